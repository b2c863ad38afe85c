// rota fit on a run of the real engine: every pass of its ledgers is in the model, and the ledgers say what the counters say.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../engines/helpers/fake.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const PROTOCOL = `name: small
engine: strata
model: {synth: {config: mini-s, seed: 1, expertFormat: mixed}}
baseline: base
arms:
  base: {slots: 25%, arena: 25%}
  few: {slots: 10%, arena: 30%}
blocks: 2
workloads: [{class: prose, prompts: ${join(ROOT, 'protocols/prompts/prose.yaml')}, perBlock: 1, maxNew: 16}]
warmup: {floorPromptsPerClass: 1, floorTokens: 0, windows: 3, capRequests: 3, capSeconds: 5}
arbitration: {perClass: 0, scoreTexts: 0}
guards: {foreignCpuShare: 1}
`;

it('fits a run of the bundled engine, whose ledgers agree with its counters', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'small.yaml');
  writeFileSync(file, PROTOCOL);
  const rota = (...words: string[]) =>
    execa(process.execPath, [join(ROOT, 'bin/rota.js'), ...words, '--results', folder.path], {
      reject: false,
    });
  const run = await rota('run', file, '--json', '--share-machine');
  expect(run.stderr.includes('counters contradict') ? run.stderr : run.exitCode).toBe(0);
  const verdict = JSON.parse(run.stdout);
  for (const row of verdict.arms) {
    // Parts of a pass that the engine times, and what they leave.
    const { draft, dense, pool, fileWait, other } = row.causes;
    expect(draft + dense + pool + fileWait + other).toBeCloseTo(row.msPerPass, 6);
    for (const part of [dense, pool, other]) expect(part).toBeGreaterThan(0);
  }
  expect(verdict.bounds.map(({ line }: { line: string }) => / % of a pass/.test(line))).toEqual([true, true]);
  const fit = await rota('fit', 'latest', '--json');
  const { arms } = JSON.parse(fit.stdout);
  for (const { arm, unusable, fit: found } of arms) {
    const { passes } = verdict.arms.find((row: { arm: string }) => row.arm === arm);
    expect([arm, unusable, found.passes, found.runs]).toEqual([arm, 0, passes, 2]);
    expect(found.terms[0].term).toBe('constant');
  }
  expect((await rota('report', 'latest', '--recompute', '--json')).exitCode).toBe(0);
}, 180_000);
