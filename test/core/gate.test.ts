import { expect, test } from 'vitest';
import { judgeGate } from '../../src/core/gate/gate.ts';
import { speedRule } from '../../src/core/gate/speed-rule.ts';
import { type GateSide, gateSide } from '../../src/core/gate/subject.ts';
import { createRng } from '../../src/core/rng.ts';
import { annotation, SUMMARY_BYTES, stepSummary } from '../../src/report/gate/github.ts';
import { gateJunit, xml } from '../../src/report/gate/junit.ts';
import { gateMarkdown, gateReport } from '../../src/report/gate/text.ts';
import { NO_PAINT } from '../../src/report/paint.ts';
import { normal as normalOf } from '../calibrate/noise.ts';
import { makeRecord, type RecordOptions, verdictOf } from './verdict/record.ts';

const quiet: RecordOptions = {
  machine: { key: 'm1' },
  blocks: 8,
  arbitrate: 'ask',
  texts: 1,
  score: () => ({ logprobs: [-1, -2], logits: 'p' }),
  readyRaw: () => ({ sizes: { arena_bytes: 1000, threads: 2 } }),
  answer: ({ block }) => ({ rate: 100 * (1 + 0.001 * block) }),
};

function side(options: RecordOptions = {}): GateSide {
  const record = makeRecord({ ...quiet, ...options });
  return gateSide({ name: 'folder', ...record, verdict: verdictOf(record) });
}

const gated = (run: RecordOptions, baseline: RecordOptions = {}, allow = {}) =>
  judgeGate({ run: side(run), baseline: side(baseline), margin: 0.02, allow });

test('the same again passes, and every exact rule was looked at', () => {
  const finding = gated({});
  expect(finding).toMatchObject({ outcome: 'pass', exitCode: 0 });
  expect(finding.reason).toMatchInlineSnapshot(`"tok/s not slower by 2 % in 2 cells, 12 exact rules kept"`);
  expect(finding.checks.every(({ outcome }) => outcome === 'pass')).toBe(true);
});

test.each([
  ['machine', { machine: { key: 'm2' } }, {}],
  ['protocol', { plan: { protocolSha256: '1'.repeat(64) } }, {}],
  ['weights of fast', { fingerprint: (arm: string) => (arm === 'fast' ? 'g' : 'f') }, {}],
  [
    'drafter of fast',
    { draftFingerprint: (arm: string) => (arm === 'fast' ? 'e' : 'd') },
    { draftFingerprint: () => 'd' },
  ],
  ['device', { device: 'cuda:0' }, {}],
  ['machine is not known', { machine: null }, {}],
] as [string, RecordOptions, RecordOptions][])(
  'a comparison across is refused, and says what differs: %s',
  (what, run, base) => {
    const finding = gated(run, base);
    expect(finding).toMatchObject({ outcome: 'refused', exitCode: 3, checks: [] });
    expect(finding.reason).toContain(what);
  },
);

/** Each breaks what one rule guards, and no other. */
test.each([
  ['tok/s', { answer: ({ block }) => ({ rate: 95 * (1 + 0.001 * block) }) }],
  [
    'ids',
    { answer: ({ block }) => ({ rate: 100 * (1 + 0.001 * block), ids: [7, ...new Array(63).fill(1)] }) },
  ],
  ['prefill', { score: () => ({ logprobs: [-1, -2], logits: 'q' }) }],
  ['passes', { answer: ({ block }) => ({ rate: 100 * (1 + 0.001 * block), counters: { passes: 41 } }) }],
  [
    'lookups',
    {
      answer: ({ block }) => ({
        rate: 100 * (1 + 0.001 * block),
        counters: { bySource: { hit: 299, pcie: 0, cpu: 401, file: 100, skipped: 0 } },
      }),
    },
  ],
  ['memory', { readyRaw: () => ({ sizes: { arena_bytes: 1001, threads: 2 } }) }],
] as [string, RecordOptions][])('a run that is worse by one rule fails by it: %s', (rule, run) => {
  const finding = gated(run);
  expect(finding).toMatchObject({ outcome: 'fail', exitCode: 1 });
  const failed = new Set(
    finding.checks.filter(({ outcome }) => outcome === 'fail').map((check) => check.rule),
  );
  // Other passes are other tokens a pass by their nature.
  expect(failed).toEqual(new Set(rule === 'passes' ? ['passes', 'tokens-per-pass'] : [rule]));
});

test('less memory is no regression; an allowed rule is named; a limit is a limit', () => {
  const memory = (bytes: number): RecordOptions => ({ readyRaw: () => ({ sizes: { arena_bytes: bytes } }) });
  expect(gated(memory(900)).outcome).toBe('pass');
  expect(gated(memory(1009), {}, { memory: 0.01 }).reason).toContain('allowed: base · memory');
  expect(gated(memory(1020), {}, { memory: 0.01 }).outcome).toBe('fail');
});

test('what is missing could not be measured; what contradicts itself is invalid; three blocks are not enough', () => {
  const missing = gated({ arms: ['base'] }, {});
  expect(missing).toMatchObject({ outcome: 'unmeasured', exitCode: 3 });
  expect(missing.reason).toContain('the run has no such cell');
  const broken = gated({ answer: () => ({ counters: { lookups: 801 } }) });
  expect(broken).toMatchObject({ outcome: 'invalid', exitCode: 5 });
  expect(gated({ blocks: 3 }, { blocks: 3 })).toMatchObject({ outcome: 'inconclusive', exitCode: 4 });
  expect(gated({ answer: ({ block }) => ({ rate: 97 + 3 * (block % 2) }) }).outcome).toBe('inconclusive');
});

test('a certain regression is told before what is missing', () => {
  const finding = gated({ arms: ['base'], answer: () => ({ rate: 50 }) });
  expect(finding).toMatchObject({ outcome: 'fail', exitCode: 1 });
});

test('at a spread of 1 %, 8 blocks and a margin of 2 %: the same passes, 5 % slower fails, 2 % slower passes as rarely as it may', () => {
  const rng = createRng('gate');
  const normal = () => normalOf(rng);
  const outcomes = (effect: number, outcome: string): number => {
    let hits = 0;
    for (let i = 0; i < 2000; i++) {
      const pairs = Array.from({ length: 8 }, () => ({
        run: effect * Math.exp(0.01 * normal()),
        baseline: 1,
      }));
      if (speedRule(pairs, 0.02).outcome === outcome) hits++;
    }
    return hits / 2000;
  };
  expect(outcomes(1, 'pass')).toBeGreaterThan(0.99);
  expect(outcomes(1, 'fail')).toBe(0);
  expect(outcomes(0.95, 'fail')).toBeGreaterThan(0.99);
  // At the margin itself either error is 5 %: within the 99.9 % band of 2,000 tries.
  expect(Math.abs(outcomes(0.98, 'pass') - 0.05)).toBeLessThan(0.016);
  expect(Math.abs(outcomes(0.98, 'fail') - 0.05)).toBeLessThan(0.016);
});

test('JUnit holds what XML can hold, and a gate that compared nothing is an error', () => {
  expect(xml('a\u0000\u001b[1m<b> & "c"\n\ud800')).toBe(
    'a\ufffd\ufffd[1m&lt;b&gt; &amp; &quot;c&quot; \ufffd',
  );
  expect(gateJunit(gated({ machine: { key: 'm2' } }))).toContain('tests="1" failures="0" errors="1"');
  expect(gateJunit(gated({ blocks: 3 }, { blocks: 3 }))).toMatch(
    /skipped message="1\.00× .*3 blocks, a gate needs 4"/,
  );
});

test('GitHub: an annotation is one line, a summary keeps below the limit and tells that it was cut', () => {
  const finding = { ...gated({}), outcome: 'fail', reason: '5 % off\nand: more' } as const;
  expect(annotation(finding)).toMatchInlineSnapshot(
    `"::error title=rota gate%3A fail::VERDICT fail exit=0 margin=2%25 run=folder baseline=folder: 5 %25 off and: more"`,
  );
  const [check] = finding.checks;
  if (check === undefined) throw new Error('no check');
  const huge = {
    ...finding,
    checks: Array.from({ length: 20_000 }, (_, i) => ({ ...check, arm: `arm-${i}-×` })),
  };
  const text = stepSummary(huge, 1000);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(SUMMARY_BYTES - 1000);
  expect(text).toContain('_cut: ');
  expect(stepSummary(huge, SUMMARY_BYTES - 10)).toBe('');
  expect(stepSummary(finding, 0)).not.toContain('_cut: ');
});

/** Beside others in some blocks, by the plan's own limit of 10 % of all cores. */
const beside = (blocks: readonly number[], rate: number): RecordOptions => ({
  answer: ({ block }) => ({
    rate: (blocks.includes(block) ? rate : 100) * (1 + 0.001 * block),
    foreignCpuShare: blocks.includes(block) ? 0.6 : 0.01,
    load: { cores: 2 },
  }),
});

test.each([
  ['the run', beside([2, 5], 50), {}],
  ['the baseline', {}, beside([2, 5], 200)],
])('blocks that others disturbed neither fail nor pass a gate: %s', (side, run, baseline) => {
  const finding = gated(run, baseline);
  expect(finding).toMatchObject({ outcome: 'pass', exitCode: 0 });
  const speed = finding.checks.find(({ rule }) => rule === 'tok/s');
  expect(speed?.text).toContain(
    `; not judged by 2 of 8 blocks, measured beside others: block 2 of ${side} beside 1.2 foreign cores`,
  );
});

test('load that leaves too few blocks makes a gate inconclusive, exit 4, and is named; what has no noise still fails', () => {
  const five = [1, 2, 3, 4, 5];
  // Each would be judged otherwise: slower by half, and faster.
  for (const rate of [50, 200]) {
    const finding = gated(beside(five, rate));
    expect(finding).toMatchObject({ outcome: 'inconclusive', exitCode: 4 });
    expect(finding.reason).toMatch(
      /3 blocks, a gate needs 4; not judged by 5 of 8 blocks, .*1\.2 foreign cores/,
    );
  }
  const all = gated(beside([...five, 6, 7, 8], 50));
  expect(all).toMatchObject({ outcome: 'inconclusive', exitCode: 4 });
  expect(all.reason).toMatch(/^base · prose · tok\/s: no block was left alone; not judged by 8 of 8 blocks/);
  const changed = { ...beside(five, 100), readyRaw: () => ({ sizes: { arena_bytes: 1001, threads: 2 } }) };
  expect(gated(changed)).toMatchObject({ outcome: 'fail', exitCode: 1 });
});

test('a machine that was slower itself is named beside the rate, and decides nothing', () => {
  const loop = (arithmeticMs: number, memoryMs: number): RecordOptions => ({
    calibrate: () => ({ arithmeticMs, memoryMs }),
  });
  const speed = (run: RecordOptions, baseline: RecordOptions) =>
    gated(run, baseline).checks.find(({ rule }) => rule === 'tok/s');
  const slower = { answer: ({ block }: { block: number }) => ({ rate: 90 * (1 + 0.001 * block) }) };
  const same = speed(slower, loop(10, 5));
  expect(same?.text).not.toContain('calibration');
  const evening = speed({ ...slower, ...loop(11.2, 5.1) }, loop(10, 5));
  expect(evening).toMatchObject({ outcome: 'fail', ratio: same?.ratio });
  expect(evening?.text).toMatch(
    /; the machine itself took other times for the calibration loop than in the baseline: arithmetic 1\.12×$/,
  );
});

test('what may be concluded of the weights stands in every form but the line for machines', () => {
  const subject = 'synthetic subject: speed only';
  const finding = gated({ subject: () => subject });
  expect(finding.subject).toBe(subject);
  expect(gateReport(finding, { paint: NO_PAINT, ascii: false, width: 100 })).toContain(`\n\n${subject}\n\n`);
  expect(gateMarkdown(finding)).toContain(`\n\n${subject}\n\n`);
  expect(gated({})).not.toHaveProperty('subject');
});
