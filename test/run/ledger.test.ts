// A run's ledger, from the engine's hand into the record: what is kept, how it is held, and what nobody may alter.

import { existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { EngineError, InvalidRecordError } from '../../src/core/errors.ts';
import { sha256 } from '../../src/results/journal-line.ts';
import { readLedger } from '../../src/results/ledger.ts';
import { pack, unpack } from '../../src/results/sealed.ts';
import { refuseLedgerFlood } from '../../src/run/ledger.ts';
import { recomputeVerdict } from '../../src/run/verdict-file.ts';
import { loadDescriptor } from '../../src/schema/load.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';
import { eventsOf, type FakeRun, fakeProtocol, preparedPlan, runFakes } from './helpers/fake-session.ts';

/** What the play leaves when it goes: a line that was never finished. */
const HALF_BYTES = '{"id":999,"pass":0,"kind":"dec'.length;
/** What else runs on the machine has no say here. */
const CALM = 'guards: {foreignCpuShare: 1}\n';
const ARMS = { base: { play: 'keeps-ledger' }, fast: { play: 'keeps-ledger', rate: 3000 } };

const ledgersOf = ({ events }: FakeRun) => eventsOf(events, 'run_end').flatMap(({ ledger }) => ledger ?? []);

test('every run has one: its measured windows and nothing else, pass by pass as the engine wrote them', async () => {
  using base = temporaryFolder();
  const run = await runFakes(base.path, ARMS, { hasLedger: true, blocks: 2, extra: CALM });
  const ledgers = ledgersOf(run);
  expect(ledgers.map(({ file }) => file).sort()).toEqual(
    run.plan.runs.map(({ id }) => `ledger/${id}.1.jsonl.br`).sort(),
  );
  for (const ledger of ledgers) {
    // Two classes, a prompt of 12 tokens each.
    expect(ledger).toMatchObject({ lines: 22, tornBytes: HALF_BYTES });
    expect(ledger.windows.map(({ passes, rows }) => [passes, rows])).toEqual([
      [11, 11],
      [11, 11],
    ]);
    expect(readLedger(run.folder, ledger)).toHaveLength(22);
  }
  // What was not measured does not stay.
  expect(readdirSync(run.folder.ledgers).filter((name) => name.endsWith('.jsonl'))).toEqual([]);
  // Each start says with which words it was started; the plan and the report stay free of them.
  for (const { argv, attempt, run: id } of eventsOf(run.events, 'run_start')) {
    expect(argv.slice(-2)).toEqual(['--ledger', path.join(run.folder.ledgers, `${id}.${attempt}.jsonl`)]);
  }
  expect(run.verdict.arms.every(({ command }) => !command.includes('--ledger'))).toBe(true);
  expect(run.verdict.warnings.filter((text) => text.includes('ledger'))).toEqual([]);
  expect(run.outcome.exitCode).toBe(0);
});

test('a line that was altered or a file that is gone, and the record is invalid', async () => {
  using base = temporaryFolder();
  const run = await runFakes(base.path, ARMS, { hasLedger: true, extra: CALM });
  const [ledger] = ledgersOf(run);
  const file = path.join(run.folder.path, ledger?.file ?? '');
  const good = readFileSync(file);
  expect(recomputeVerdict(run.folder).exitCode).toBe(0);
  const text = unpack(good, file).toString('utf8');
  writeFileSync(file, pack(Buffer.from(text.replace('"rows":1', '"rows":2'))));
  expect(() => recomputeVerdict(run.folder)).toThrowError(InvalidRecordError);
  rmSync(file);
  expect(() => recomputeVerdict(run.folder)).toThrowError(/is missing/);
  writeFileSync(file, good);
  expect(recomputeVerdict(run.folder).exitCode).toBe(0);
});

test('a ledger of a record from before, which is gzip, is read as well', async () => {
  using base = temporaryFolder();
  const run = await runFakes(base.path, ARMS, { hasLedger: true, extra: CALM });
  const [ledger] = ledgersOf(run);
  if (ledger === undefined) throw new Error('no ledger');
  const passes = readLedger(run.folder, ledger);
  expect(passes).toHaveLength(22);
  const sealed = path.join(run.folder.path, ledger.file);
  const bytes = gzipSync(unpack(readFileSync(sealed), sealed));
  const file = ledger.file.replace(/br$/, 'gz');
  writeFileSync(path.join(run.folder.path, file), bytes);
  expect(readLedger(run.folder, { ...ledger, file, sha256: sha256(bytes) })).toEqual(passes);
});

test('a ledger that says something else than the answers is a measurement that contradicts itself', async () => {
  using base = temporaryFolder();
  const run = await runFakes(
    base.path,
    { base: { play: 'lying-ledger' }, fast: ARMS.fast },
    { hasLedger: true, extra: CALM },
  );
  expect(run.outcome.exitCode).toBe(5);
  expect(run.verdict.warnings[0]).toMatch(
    /^counters contradict themselves in 2 windows: b1\.p\d\.base code \S+: rows = Σ of the ledger: 11 ≠ 12/,
  );
});

test('an engine that dies leaves what it had written; the run that counts has its own file', async () => {
  using base = temporaryFolder();
  const arms = { base: { play: 'dies-with-ledger' }, fast: ARMS.fast };
  const run = await runFakes(base.path, arms, { hasLedger: true, extra: CALM });
  expect(run.outcome.exitCode).toBe(0);
  const ends = eventsOf(run.events, 'run_end').filter((end) => end.run.endsWith('.base'));
  expect(
    ends.map(({ status, ledger }) => [status, ledger?.file.slice(-11), ledger?.tornBytes, ledger?.lines]),
  ).toEqual([
    ['void', '.1.jsonl.br', 0, 11],
    ['ok', '.2.jsonl.br', HALF_BYTES, 22],
  ]);
});

test('an engine that was told and wrote none is said, and measured all the same', async () => {
  using base = temporaryFolder();
  const run = await runFakes(base.path, { base: {}, fast: ARMS.fast }, { hasLedger: true, extra: CALM });
  expect(run.outcome.exitCode).toBe(0);
  const [id] = run.plan.runs.flatMap((each) => (each.arm === 'base' ? [each.id] : []));
  expect(run.verdict.warnings).toContain(`the ledger has gaps in ${id}: rota fit leaves them out`);
});

test('a ledger that floods the disk ends its run; one at the limit does not', () => {
  using base = temporaryFolder();
  const file = path.join(base.path, 'flood.jsonl');
  writeFileSync(file, '');
  truncateSync(file, 256 * 1024 ** 2);
  refuseLedgerFlood(file);
  truncateSync(file, 256 * 1024 ** 2 + 1);
  expect(() => refuseLedgerFlood(file)).toThrowError(EngineError);
  refuseLedgerFlood(path.join(base.path, 'none.jsonl'));
});

test('a protocol may do without, and an arm that names its own file keeps it', async () => {
  using base = temporaryFolder();
  const run = await runFakes(base.path, ARMS, { hasLedger: true, extra: `${CALM}ledger: false\n` });
  expect(ledgersOf(run)).toEqual([]);
  expect(existsSync(run.folder.ledgers)).toBe(false);
  const own = { ...ARMS, fast: { ...ARMS.fast, ledger: '/nowhere/own' } };
  const plan = preparedPlan(fakeProtocol(base.path, own, { hasLedger: true, extra: CALM }));
  expect(plan.arms.map(({ ledgerFlag }) => ledgerFlag)).toEqual(['--ledger', undefined]);
});

test('a descriptor cannot name a ledger that is no path behind a flag', () => {
  using base = temporaryFolder();
  const protocol = fakeProtocol(base.path, ARMS, { hasLedger: true, extra: CALM });
  const file = path.join(protocol.folder, 'engines', 'fake.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('{knob: ledger}', '{knob: rate}'));
  expect(() => loadDescriptor(path.dirname(file), 'fake')).toThrowError(
    /fake\.yaml:10:16: ledger\.knob: "rate" is no knob of type path with a flag/,
  );
});
