import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Bench, createBench } from './helpers/rota.ts';

let bench: Bench;
beforeAll(() => {
  bench = createBench();
});
afterAll(() => bench.remove());

/** Whoever else uses this machine shall not decide what these tests see. */
const AA = ['aa', 'fake', 'model.gguf', '--blocks', '4', '--max-new', '8', '--json', '--share-machine'];

/** Where the spread comes from that a plan reckons with. */
async function source(): Promise<string> {
  const words = ['ab', 'fake', 'model.gguf', '-a', '', '-b', '--rate 3000', '--plan', '--json'];
  const { stdout } = await bench.rota(...words);
  return JSON.parse(stdout).assumedSpread.source;
}

it('measures an engine against itself, keeps a certificate, and later plans reckon with it while it holds', async () => {
  expect(await source()).toContain('not measured here');
  const run = await bench.rota(...AA, '--foreign-cpu', '1');
  // The fake engine's noise is this machine's: an alarm is rare and no mistake of the command.
  expect([0, 5]).toContain(run.exitCode);
  const certificate = JSON.parse(run.stdout);
  expect(certificate).toMatchObject({ schemaVersion: 1, engine: 'fake', blocks: 4 });
  expect(certificate.classes.map((each: { class: string }) => each.class)).toEqual([
    'enumeration',
    'prose',
    'code',
  ]);
  const folder = join(bench.path('results'), 'certificates');
  const [name = ''] = readdirSync(folder);
  const file = join(folder, name);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(certificate);

  // A fake engine's clock is scripted: its noise may be none at all, with which no plan would reckon.
  const classes = certificate.classes.map((each: object) => ({ ...each, spreadUpper: 0.02 }));
  const written = (change: object): void =>
    writeFileSync(file, JSON.stringify({ ...certificate, classes, alarm: null, ...change }));
  written({});
  expect(await source()).toMatch(
    /^measured: the upper bound of 4 blocks of identical arms on \d{4}-\d\d-\d\d$/,
  );
  for (const change of [
    { utc: '2020-01-01T00:00:00.000Z' },
    { alarm: 'it lies' },
    { machineKey: 'another' },
    { engine: 'another' },
    { classes: 'broken' },
  ]) {
    written(change);
    expect(await source(), JSON.stringify(change)).toContain('not measured here');
  }
}, 120_000);

it('certifies when it is finished by rota resume, as by itself', async () => {
  const run = await bench.rota(...AA, '--foreign-cpu', '1');
  expect([0, 5]).toContain(run.exitCode);
  const { run: name, utc } = JSON.parse(run.stdout);
  const folder = bench.path(join('results', name));
  const certificate = bench.path(join('results', 'certificates', `${name}.json`));
  // Killed before its last run began: what the journal had then is all there is.
  const journal = readFileSync(join(folder, 'journal.jsonl'), 'utf8').split('\n');
  const last = journal.findLastIndex((line) => line.includes('"type":"run_start"'));
  writeFileSync(join(folder, 'journal.jsonl'), `${journal.slice(0, last).join('\n')}\n`);
  for (const file of [join(folder, 'verdict.json'), certificate]) rmSync(file);
  const resumed = await bench.rota('resume', name, '--json', '--share-machine');
  expect([0, 5]).toContain(resumed.exitCode);
  expect(resumed.stderr).toContain('1 of 8 runs are left');
  expect(JSON.parse(resumed.stdout)).toMatchObject({ schemaVersion: 1, run: name, utc, blocks: 4 });
  expect(JSON.parse(readFileSync(certificate, 'utf8'))).toEqual(JSON.parse(resumed.stdout));
}, 120_000);
