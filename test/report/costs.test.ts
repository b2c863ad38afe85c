// What the work of an arm cost, and that JSON has all that the other forms say.

import { expect, test } from 'vitest';
import { jsonReport, reportJson } from '../../src/report/json.ts';
import { markdownReport } from '../../src/report/markdown.ts';
import { terminalReport } from '../../src/report/terminal.ts';
import type { RecordOptions } from '../core/verdict/record.ts';
import { evening, LOOK, made, terminal } from './helpers/evening.ts';

test('JSON: the keys that programs may rely on', () => {
  const { verdict } = made(evening);
  const json = reportJson(verdict);
  expect(Object.keys(json).sort()).toMatchInlineSnapshot(`
    [
      "arms",
      "baseline",
      "bounds",
      "ceilings",
      "complete",
      "components",
      "decisions",
      "device",
      "executed",
      "exitCode",
      "headlines",
      "protocol",
      "runFolder",
      "runs",
      "warnings",
    ]
  `);
  expect(json.runs[0]).toEqual({ id: 'b1.p1.base', status: 'ok' });
  expect(Object.keys(json.arms[0] ?? {}).sort()).toMatchInlineSnapshot(`
    [
      "acceptance",
      "arm",
      "binds",
      "blocks",
      "ceilingShare",
      "ceilingTokPerSec",
      "class",
      "command",
      "deviceBytesPerToken",
      "fileBytesPerToken",
      "hostBytesPerToken",
      "idsSha256",
      "line",
      "loadS",
      "lookups",
      "msPerPass",
      "output",
      "outputReason",
      "passes",
      "perBlock",
      "prefillTokPerSec",
      "ratio",
      "robust",
      "rows",
      "speed",
      "spread",
      "spreadRatio",
      "test",
      "tokPerSec",
      "tokensPerPass",
      "ttftMs",
    ]
  `);
  expect(JSON.parse(jsonReport(verdict))).toEqual(JSON.parse(JSON.stringify(json)));
});

/** With a ledger, drafts, a file and the power of a GPU: every column there is. */
const everything: RecordOptions = {
  ...evening,
  ledger: ({ arm }) => ({
    draft: 10,
    dense: 50,
    pool: arm === 'base' ? 80 : 20,
    fileWait: arm === 'ram' ? 0 : 5,
  }),
  answer: (at) => ({
    ...evening.answer?.(at),
    wallMs: 400,
    load: {
      threadCpuShare: { 'rota-pool-1': 0.95, 'rota-pool-2': 0.9 },
      gpus: [
        {
          ...{ uuid: 'GPU-1', utilizationPercent: 3, powerWatts: 120, temperatureC: 40, smClockMhz: 1980 },
          ...{ ownMemoryBytes: null, foreignMemoryBytes: null },
        },
      ],
    },
  }),
};

test('what a pass went to, bytes against the ceilings, energy, and what bounds each arm', () => {
  const text = terminal({ ...everything, classes: ['prose'] });
  const [, from = ''] = text.split('class  arm   draft ms');
  const [costs = ''] = from.split('class  arm   output');
  expect(`class  arm   draft ms${costs}`).toMatchInlineSnapshot(`
    "class  arm   draft ms  dense  CPU pool  file wait  other  host GB/s  file MB/token  file GB/s  binds  J/token ≈
    ───────────────────────────────────────────────────────────────────────────────────────────────────────────────
    prose  base     0.250   1.25      2.00      0.125   4.13      0.029          0.016    0.00322  host       0.750
           ram      0.250   1.25     0.500          0   1.39      0.066          0.016    0.00737  host       0.750
           t1       0.250   1.25     0.500      0.125  10.36      0.018          0.016    0.00200  host       0.750
           bias     0.250   1.25     0.500      0.125   3.84      0.038          0.016    0.00419  host       0.750

    "
  `);
  expect(text.split('what bounds each arm')[1]?.split('\n\n')[0]).toMatchInlineSnapshot(`
    "
    base  other 53 % of a pass; CPU pool 26 %; dense half 16 %; file wait 2 %, 0.00322 of 1.90 GB/s; rota-pool: 1.8 of 2
          threads busy; others 1 % of all cores; GPU 3 %
    ram   other 41 % of a pass; dense half 37 %; CPU pool 15 %; drafts 7 %; file wait 0 %, 0.00737 of 1.90 GB/s; rota-pool:
          1.8 of 2 threads busy; others 1 % of all cores; GPU 3 %
    t1    other 83 % of a pass; dense half 10 %; file wait 1 %, 0.00200 of 1.90 GB/s; rota-pool: 1.8 of 2 threads busy;
          others 1 % of all cores; GPU 3 %
    bias  other 64 % of a pass; dense half 21 %; CPU pool 8 %; file wait 2 %, 0.00419 of 1.90 GB/s; rota-pool: 1.8 of 2
          threads busy; others 1 % of all cores; GPU 3 %"
  `);
  for (const line of terminal(everything).split('\n')) expect(line.length).toBeLessThanOrEqual(120);
});

test('JSON has all that Markdown and the terminal say', () => {
  const { plan, verdict } = made(everything);
  // Read back without anything else, it makes the same reports.
  const read = JSON.parse(jsonReport(verdict));
  expect(markdownReport(plan, read)).toBe(markdownReport(plan, verdict));
  expect(terminalReport(plan, read, LOOK)).toBe(terminalReport(plan, verdict, LOOK));
});
