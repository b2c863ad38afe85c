// One start of an engine, from launch to the last process gone, with real processes that behave and misbehave.

import { expect, test } from 'vitest';
import { EngineError } from '../../src/core/errors.ts';
import { readPidStat } from '../../src/machine/processes.ts';
import { request, SOON, startFake } from './helpers/fake.ts';

async function failure(work: Promise<unknown>): Promise<EngineError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof EngineError) return error;
  throw new Error(`expected an EngineError, got ${String(error)}`);
}

test('a steady engine becomes ready, answers, forgets and quits when asked', async () => {
  await using fake = await startFake('steady');
  const { session } = fake;
  const { ready, loadMs } = await session.ready();
  expect({ ...ready, raw: null }).toMatchInlineSnapshot(`
    {
      "device": "fake",
      "fingerprint": "f00d",
      "lossyKnobs": [],
      "moeLayers": 2,
      "raw": null,
      "topK": 2,
      "vocab": 256,
      "weightBytes": 8500,
    }
  `);
  expect(loadMs).toBeGreaterThan(0);
  const first = await session.generate(request(), SOON);
  const second = await session.generate(request(), SOON);
  expect(first.refusedFields).toEqual([]);
  expect(first.result.tokens).toBe(8);
  expect(first.result.ids).toEqual(second.result.ids);
  expect(first.result.decodeMs).toBe(3.5);
  expect(first.result.counters.bySource).toEqual({ hit: 14, pcie: 0, cpu: 14, file: 0, skipped: 0 });
  expect(first.result.raw).not.toHaveProperty('ids');
  expect(await session.reset()).toBe(true);
  expect(await session.stop()).toEqual({
    exit: { code: 0, signal: null },
    means: 'quit',
    stragglers: [],
    left: [],
  });
});

test('ids come one by one when somebody listens', async () => {
  await using fake = await startFake('chatty');
  await fake.session.ready();
  const heard: number[] = [];
  const { result } = await fake.session.generate(request(), {
    ...SOON,
    onTokens: (ids) => heard.push(...ids),
  });
  expect(heard).toEqual(result.ids);
});

test('an engine that cannot load: its exit code and its own line', async () => {
  await using fake = await startFake('crash-at-load');
  const error = await failure(fake.session.ready());
  expect(error.message).toBe('the engine ended while it should get ready: exit code 3');
  expect(error.exit).toBe(3);
  expect(error.logTail.at(-1)).toBe('error: model.gguf: truncated at byte 4096');
  expect((await fake.session.stop()).means).toBe('already');
});

test('an engine that dies of a signal', async () => {
  await using fake = await startFake('crash-at-ready');
  await fake.session.ready();
  await new Promise((resolve) => setTimeout(resolve, 100));
  const error = await failure(fake.session.generate(request(), SOON));
  expect(error.message).toBe('the engine ended while it should wait for a request: signal SIGSEGV');
  expect(error.exit).toBe('SIGSEGV');
});

test('an engine that dies in a request: the last 40 lines of its log', async () => {
  await using fake = await startFake('crash-mid-request');
  await fake.session.ready();
  await fake.session.generate(request(), SOON);
  const error = await failure(fake.session.generate(request(), SOON));
  expect(error.message).toBe('the engine ended while it should generate: exit code 4');
  expect(error.logTail).toHaveLength(40);
  expect(error.logTail[0]).toBe('log line 61');
  expect(error.logTail.at(-1)).toBe('log line 100');
});

test('an engine that is never ready is given up, and leaves its last words', async () => {
  await using fake = await startFake('never-ready', { readyS: 0.4 });
  const error = await failure(fake.session.ready());
  expect(error.message).toBe('not ready within 0.4 s');
  expect(error.logTail).toEqual(['fake engine never-ready starts']);
});

test('an engine that never answers is given up', async () => {
  await using fake = await startFake('hang-mid-request');
  await fake.session.ready();
  const error = await failure(fake.session.generate(request(), { timeoutMs: 200 }));
  expect(error.message).toBe('no answer within 0.2 s');
});

test('half a line and then the end: the engine died, and the half is kept as what it is', async () => {
  await using fake = await startFake('half-line');
  await fake.session.ready();
  const error = await failure(fake.session.generate(request(), SOON));
  expect(error.message).toBe('the engine ended while it should generate: exit code 0');
  expect(fake.session.stray.count).toBe(1);
  expect(fake.session.logTail().at(-1)).toMatch(/^stdout: \{"event":"done","id":1,"ids":\[/);
});

test('a line without end is not kept in memory, and its request fails at once', async () => {
  await using fake = await startFake('huge-line');
  await fake.session.ready();
  const error = await failure(fake.session.generate(request(), SOON));
  expect(error.message).toBe('the engine broke the protocol: the answer to request 1 is too long a line');
});

test('noise on both streams is counted, and hides no answer', async () => {
  await using fake = await startFake('flood');
  await fake.session.ready();
  for (let i = 0; i < 3; i++) expect((await fake.session.generate(request(), SOON)).result.tokens).toBe(8);
  expect(fake.session.stray.count).toBeGreaterThanOrEqual(18_000);
  expect(fake.session.stray.samples.length).toBeLessThanOrEqual(20);
  expect(fake.session.logTail().join('')).not.toContain('\u001b');
});

test('an answer to a request that was never sent breaks the protocol', async () => {
  await using fake = await startFake('wrong-id');
  await fake.session.ready();
  const error = await failure(fake.session.generate(request(), SOON));
  expect(error.message).toBe('the engine broke the protocol: an answer to request 41, which was never asked');
});

test('a second answer to one request breaks the protocol', async () => {
  await using fake = await startFake('double-done');
  await fake.session.ready();
  await fake.session.generate(request(), SOON);
  await failure(fake.session.generate(request(), SOON));
  expect(fake.session.violation).toBe('request 1 was answered twice');
});

test('NaN and infinities are not known, and are named', async () => {
  await using fake = await startFake('not-a-number');
  await fake.session.ready();
  const { result, refusedFields } = await fake.session.generate(request(), SOON);
  expect(result.tokens).toBe(8);
  expect(result.decodeMs).toBeNull();
  expect(result.ttftMs).toBeNull();
  expect(refusedFields).toEqual(['a number that is not finite']);
});

test('an engine without reset says so and lives on', async () => {
  await using fake = await startFake('no-reset');
  await fake.session.ready();
  expect(await fake.session.reset()).toBe(false);
  expect((await fake.session.generate(request(), SOON)).result.tokens).toBe(8);
});

test('a refusal is told in the words of the engine, and the engine lives on', async () => {
  await using fake = await startFake('refuses');
  await fake.session.ready();
  const error = await failure(fake.session.generate(request(), SOON));
  expect(error.message).toBe('the engine refused: context: 9000 prompt tokens do not fit 8192');
  expect((await fake.session.stop()).means).toBe('quit');
});

test('a program that is not there', async () => {
  const error = await failure(startFake('steady', { argv: ['/no/such/engine'] }));
  expect(error.message).toBe('cannot start /no/such/engine: no such program');
});

test('an engine that ignores quit, the end of stdin and SIGTERM is killed', async () => {
  await using fake = await startFake('stubborn');
  await fake.session.ready();
  const report = await fake.session.stop();
  expect(report.means).toBe('kill');
  expect(report.exit).toEqual({ code: null, signal: 'SIGKILL' });
  expect(report.left).toEqual([]);
});

test('what an engine started is ended with it, even in a session of its own', async () => {
  await using fake = await startFake('grandchildren');
  await fake.session.ready();
  const report = await fake.session.stop();
  expect(report.stragglers).toHaveLength(2);
  expect(report.left).toEqual([]);
  for (const pid of report.stragglers) expect(readPidStat(pid)?.state ?? 'gone').toMatch(/^(gone|Z|X)$/);
});

test('Ctrl-C ends the waiting with its reason, in every phase', async () => {
  await using loading = await startFake('never-ready');
  const reason = new Error('enough');
  await expect(loading.session.ready(AbortSignal.abort(reason))).rejects.toBe(reason);
  await using hanging = await startFake('hang-mid-request');
  await hanging.session.ready();
  const controller = new AbortController();
  const answer = hanging.session.generate(request(), { ...SOON, signal: controller.signal });
  setTimeout(() => controller.abort(reason), 50);
  await expect(answer).rejects.toBe(reason);
});
