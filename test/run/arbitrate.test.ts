import { appendFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { logShape, logShapeSha256 } from '../../src/run/log-shape.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';
import { eventsOf, runFakes } from './helpers/fake-session.ts';

test('every run is asked the same after measuring, may end its answers, and scores fixed texts', async () => {
  using folder = temporaryFolder();
  const { events, plan, verdict } = await runFakes(
    folder.path,
    { base: {}, other: { shift: 1 }, same: { rate: 1900 } },
    { blocks: 2, extra: 'arbitration: {perClass: 1, maxNew: 9, scoreTexts: 2}' },
  );
  const asked = eventsOf(events, 'window').filter(({ kind }) => kind === 'arbitrate');
  for (const run of plan.runs) {
    const own = asked.filter((window) => window.run === run.id);
    expect(own.map((window) => `${window.class} ${window.prompt}`)).toEqual(['code w02', 'prose w02']);
    expect(own.every(({ result }) => result.tokens === 9)).toBe(true);
    const scores = eventsOf(events, 'score').filter((score) => score.run === run.id);
    expect(scores.map((score) => `${score.class} ${score.prompt}`)).toEqual([
      'code w01',
      'code w02',
      'prose w01',
      'prose w02',
    ]);
    expect(scores[0]?.logprobs).toHaveLength((scores[0]?.tokens ?? 0) - 1);
  }
  // The baseline was asked where the other arm left it, once for each class: at the first token, which is shifted.
  const gaps = eventsOf(events, 'gap').map(({ arm, class: name, index }) => `${arm} ${name} ${index}`);
  expect(new Set(gaps)).toEqual(new Set(['other code 0', 'other prose 0']));
  expect(gaps).toHaveLength(2);
  const rows = Object.fromEntries(verdict.arms.map((row) => [`${row.arm} ${row.class}`, row]));
  expect(rows['same code']).toMatchObject({ output: 'L0', evidence: { compared: 4, differing: 0 } });
  expect(rows['same code']?.evidence?.score).toMatchObject({ perplexityRatio: 1, sameTop1: 1 });
  expect(rows['other prose']).toMatchObject({ output: 'L3', evidence: { compared: 4, differing: 4 } });
  expect(rows['other prose']?.evidence?.firstDivergence?.gapNats).not.toBeNull();
  expect(rows['other prose']?.line).toContain('same top-1 0.0 %');
});

test('an engine that cannot score is unscored, asked once a run, and no less measured', async () => {
  using folder = temporaryFolder();
  const arms = { base: { play: 'refuses-score' }, fast: { play: 'refuses-score', rate: 1900 } };
  const { events, verdict, outcome } = await runFakes(folder.path, arms);
  expect(outcome.exitCode).toBe(0);
  expect(eventsOf(events, 'score')).toEqual([]);
  for (const row of verdict.arms.filter(({ arm }) => arm === 'fast')) {
    expect(row).toMatchObject({ output: 'L0', evidence: { score: null, deltaTokens: 0 } });
  }
});

test('texts are scored as decode reads them, or as a prompt where an engine knows no other way, never one against the other', async () => {
  using folder = temporaryFolder();
  const arms = { base: {}, other: { play: 'prompts-only' }, same: { rate: 1900 } };
  const { events, plan, verdict } = await runFakes(folder.path, arms);
  const rowsOf = (arm: string): (string | undefined)[] => {
    const runs = plan.runs.filter((run) => run.arm === arm).map(({ id }) => id);
    return [
      ...new Set(eventsOf(events, 'score').flatMap((each) => (runs.includes(each.run) ? [each.rows] : []))),
    ];
  };
  expect(['base', 'same', 'other'].map(rowsOf)).toEqual([['decode'], ['decode'], ['prompt']]);
  const scores = verdict.arms.map(({ arm, evidence }) => `${arm} ${evidence?.score?.sameTop1 ?? 'unscored'}`);
  expect(new Set(scores)).toEqual(new Set(['base unscored', 'other unscored', 'same 1']));
});

test('without arbitration nothing is asked beyond what is measured', async () => {
  using folder = temporaryFolder();
  const off = { extra: 'arbitration: {perClass: 0, scoreTexts: 0}' };
  const { events } = await runFakes(folder.path, { a: {}, b: { rate: 1900 } }, off);
  expect(eventsOf(events, 'window').filter(({ kind }) => kind === 'arbitrate')).toEqual([]);
  expect(eventsOf(events, 'score')).toEqual([]);
});

test('a knob that the engine swallows is dead, and said so', async () => {
  using folder = temporaryFolder();
  const { verdict } = await runFakes(folder.path, { a: {}, b: { lanes: 4 } }, { blocks: 2 });
  expect(verdict.arms.find(({ arm }) => arm === 'b')).toMatchObject({ deadKnobs: ['lanes'] });
  expect(verdict.warnings).toContainEqual(expect.stringMatching(/^dead knob: b sets lanes/));
});

test('the shape of a log is its kinds of lines, whatever their numbers and how often they come', () => {
  const shape = logShape('serve: 12 tokens in 0.3 s\nmodel 8f3e21ab0c ready\n');
  expect(logShape('model 00ff12 ready\r\nserve: 9 tokens in 1e-3 s\nserve: 10 tokens in 4 s\n')).toBe(shape);
  expect(logShape('serve: 12 tokens in 0.3 s\nmodel 8f3e21ab0c ready\nhuge pages: off\n')).not.toBe(shape);
});

test('of a log that floods its first mebibyte is read, and of one that is not there nothing', () => {
  using folder = temporaryFolder();
  const log = path.join(folder.path, 'engine.log');
  expect(logShapeSha256(log)).toBe(null);
  writeFileSync(log, 'ready\n');
  expect(logShapeSha256(log)).toBe(logShape('ready\n'));
  const half = 'pass 1\n'.repeat((1 << 20) / 7 / 2);
  appendFileSync(log, `${half}huge pages: off\n`);
  const shape = logShapeSha256(log);
  expect(shape).toBe(logShape('ready\npass 1\nhuge pages: off\n'));
  appendFileSync(log, `${half}${half}flooded\n`);
  expect(logShapeSha256(log)).toBe(shape);
});
