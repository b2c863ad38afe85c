// What others did to a measurement: what is spoilt does not count, what could not be avoided is named wherever the conclusion stands.

import { expect, test } from 'vitest';
import type { JournalEvent } from '../../../src/core/records/journal.ts';
import type { Plan } from '../../../src/core/records/plan.ts';
import { executedOrder } from '../../../src/core/verdict/executed.ts';
import { goodAttempts, replay, spoiltTries } from '../../../src/core/verdict/replay.ts';
import {
  type Answer,
  makePlan,
  makeRecord,
  type RecordOptions,
  row,
  runEvents,
  sessionEvents,
  utc,
  verdictOf,
} from './record.ts';

const rerun: RecordOptions = {
  plan: { guards: { foreignCpuShare: 0.1, foreignGpuPercent: 15, onTrip: 'rerun', maxReruns: 3 } },
};

const spoil = (plan: Plan, block: number, number: number): JournalEvent => ({
  type: 'block_spoilt',
  utc,
  block,
  try: number,
  run: plan.runs.find((run) => run.block === block)?.id ?? '',
  reason: 'other programs used 60 % of all cores (limit 10 %) in prose prose-1-1',
  foreignPrograms: [{ name: 'cc1plus', cores: 1.2 }],
});

/** Every run of a block in order. */
const blockEvents = (plan: Plan, block: number, options: RecordOptions, attempt = 1): JournalEvent[] =>
  plan.runs.filter((run) => run.block === block).flatMap((run) => runEvents(plan, run, options, attempt));

const steady = ({ arm, block }: { arm: string; block: number }): Answer => ({
  rate: arm === 'fast' ? 200 * (1 + 0.01 * (block % 2)) : 100,
});

test('a spoilt try is on file and counts nowhere: not in rates, ids, counters or order', () => {
  const clean = makeRecord({ ...rerun, answer: steady });
  const { plan } = clean;
  // The spoilt try of block 2 would show another speed and another output, and ran the arms the other way round.
  const wild: RecordOptions = { ...rerun, answer: () => ({ rate: 7, ids: [9, 9], tokens: 2 }) };
  const second = plan.runs.filter((run) => run.block === 2).reverse();
  const events = [
    ...sessionEvents(),
    ...blockEvents(plan, 1, { ...rerun, answer: steady }),
    ...second.flatMap((run) => runEvents(plan, run, wild)),
    spoil(plan, 2, 1),
    ...[2, 3, 4].flatMap((block) => blockEvents(plan, block, { ...rerun, answer: steady }, 2)),
    { type: 'session_end', utc } as const,
  ];
  const verdict = verdictOf({ plan, events });
  const { foreignLoad, warnings, ...rest } = verdict;
  const { warnings: without, ...expected } = verdictOf(clean);
  expect(rest).toEqual(expected);
  expect(warnings.filter((text) => !without.includes(text))).toMatchInlineSnapshot(`
    [
      "1 try of blocks spoilt by others, measured again and not counted: b2.p1.base, try 1: other programs used 60 % of all cores (limit 10 %) in prose prose-1-1",
    ]
  `);
  expect(foreignLoad).toMatchObject({ spoilt: [{ block: 2, try: 1 }], disturbed: [] });
  expect(executedOrder(goodAttempts(replay(plan, events)))).toEqual(plan.runs.map(({ id }) => id));
  expect([1, 2].map((block) => spoiltTries(events, block))).toEqual([0, 1]);
});

test('a spoilt block that was not measured again is missing, however well its runs had ended', () => {
  const plan = makePlan(rerun);
  const events = [
    ...sessionEvents(),
    ...[1, 2, 3, 4].flatMap((block) => blockEvents(plan, block, { ...rerun, answer: steady })),
    spoil(plan, 4, 1),
  ];
  const verdict = verdictOf({ plan, events });
  expect(verdict).toMatchObject({ complete: false, exitCode: 3 });
  expect(verdict.runs.filter(({ status }) => status !== 'ok').map(({ id }) => id)).toEqual(
    plan.runs.filter(({ block }) => block === 4).map(({ id }) => id),
  );
  expect(row(verdict, 'fast').perBlock.map(({ block }) => block)).toEqual([1, 2, 3]);
  expect(verdict.executed).toEqual(plan.runs.filter(({ block }) => block < 4).map(({ id }) => id));
});

test('load that no try could avoid: the last try counts, and every conclusion names it', () => {
  const beside = (cores: number): Partial<Answer> => ({
    foreignCpuShare: cores / 2,
    load: {
      cores: 2,
      stolenCpuShare: 0.1,
      foreignPrograms: [
        { name: 'cc1plus', cores: cores - 0.4 },
        { name: 'node', cores: 0.2 },
      ],
    },
  });
  const options: RecordOptions = {
    ...rerun,
    classes: ['prose', 'code'],
    answer: (at) => ({ ...steady(at), ...(at.block === 3 ? beside(at.arm === 'fast' ? 1.4 : 1) : {}) }),
  };
  const plan = makePlan(options);
  const blocks = [1, 2, 3, 4].map((block) => blockEvents(plan, block, options));
  const events = [
    ...sessionEvents(),
    ...blocks.slice(0, 2).flat(),
    ...[1, 2, 3].flatMap((number) => [
      ...blockEvents(plan, 3, options, number).slice(0, 8),
      spoil(plan, 3, number),
    ]),
    ...blocks.slice(2).flat(),
  ];
  const verdict = verdictOf({ plan, events });
  expect(verdict.complete).toBe(true);
  expect(row(verdict, 'fast').blocks).toBe(4);
  expect(verdict.foreignLoad?.disturbed).toEqual([
    {
      block: 3,
      tries: 4,
      foreignCores: 1.2,
      foreignCpuShare: 0.6,
      stolenCores: 0.2,
      programs: [
        { name: 'cc1plus', cores: 0.8 },
        { name: 'node', cores: 0.2 },
      ],
    },
  ]);
  expect(verdict.warnings.filter((text) => text.includes('avoided'))).toMatchInlineSnapshot(`
    [
      "block 3 was measured beside 1.2 foreign cores (most by cc1plus 0.8, node 0.2; 0.2 of them taken by the hypervisor), 4 tries: the load could not be avoided",
    ]
  `);
  expect(row(verdict, 'fast').line).toMatchInlineSnapshot(
    `"same output, 2.01× faster (1.99–2.03); measured beside 1.2 foreign cores in 1 of 4 blocks; in the others 2.01× (1.97–2.05)"`,
  );
  expect(verdict.headlines[0]?.line).toMatch(/; measured beside 1\.2 foreign cores in 1 of 4 blocks$/);
  expect(row(verdict, 'base').line).not.toContain('beside');
});

test('a mean over windows of a block is by their length, and unknown load is no load', () => {
  const options: RecordOptions = {
    ...rerun,
    blocks: 2,
    perBlock: 2,
    answer: (at) => ({
      ...steady(at),
      wallMs: at.prompt.endsWith('-1') ? 300 : 100,
      foreignCpuShare: at.block === 2 ? null : at.prompt.endsWith('-1') ? 0.2 : 0,
      load: { cores: 4 },
    }),
  };
  const { foreignLoad } = verdictOf(makeRecord(options));
  expect(foreignLoad?.disturbed).toMatchObject([{ block: 1, foreignCores: 0.6, foreignCpuShare: 0.15 }]);
});

test('the blocks that were left alone have their say beside all of them, with its own word where that is another', () => {
  // A neighbour that hits one arm harder: all blocks say equivalent, the calm ones slower.
  const options = (hit: number, blocks: readonly number[]): RecordOptions => ({
    ...rerun,
    blocks: 8,
    answer: ({ arm, block }) => {
      const isHit = blocks.includes(block);
      const noise = 1 + 0.003 * Math.sin(3 * block + (arm === 'fast' ? 2 : 0));
      const rate = 100 * noise * (arm === 'fast' ? 0.9 : isHit ? hit : 1);
      return { rate, foreignCpuShare: isHit ? 0.5 : 0, load: { cores: 2 } };
    },
  });
  const line = (hit: number, blocks: readonly number[]) =>
    row(verdictOf(makeRecord(options(hit, blocks))), 'fast').line;
  expect(line(0.6, [2, 3, 5, 7])).toMatch(
    /speed inconclusive: .*; measured beside up to 1\.0 foreign cores in 4 of 8 blocks; in the others 0\.9\d* ?× \(0\.89\d*–0\.90\d*\), slower$/,
  );
  expect(line(1, [2])).toMatch(
    /slower: .*; measured beside 1\.0 foreign cores in 1 of 8 blocks; in the others 0\.9\d*× \([^)]*\)$/,
  );
  // One block that is left has no spread.
  expect(line(1, [1, 2, 3, 4, 5, 6, 7])).toMatch(/in 7 of 8 blocks$/);
});

test('where the protocol only flags, the sentence about an arm names the load as well; quiet blocks say nothing', () => {
  const flagged = verdictOf(
    makeRecord({
      answer: (at) => ({ ...steady(at), foreignCpuShare: at.block < 3 ? 0.1 + at.block / 10 : 0.02 }),
    }),
  );
  expect(row(flagged, 'fast').line).toMatch(
    /; measured beside others on up to 30 % of all cores in 2 of 4 blocks; in the others 2\.01× \(1\.89–2\.14\)$/,
  );
  const quiet = verdictOf(makeRecord({ answer: steady }));
  expect(quiet).not.toHaveProperty('foreignLoad');
  expect(row(quiet, 'fast').line).not.toContain('beside');
});
