// The conversation: order, streams, cancellation, bad lines, and every way an engine is told to end.

import { expect, test } from 'vitest';
import { type Json, promptOf, runStrata, Strata } from './helpers/strata.ts';
import { withModel } from './helpers/workspace.ts';

const { model } = withModel('mini-xs');
const prompt = promptOf(20, 128);

const start = (...args: string[]): Promise<Strata> =>
  Strata.start(['--model', model, ...args]).then(({ engine }) => engine);

test('loading goes up to its total and comes before ready', async () => {
  await using engine = await start();
  const names = engine.events.map(({ event }) => event);
  expect(names.at(-1)).toBe('ready');
  const loading = engine.events.filter(({ event }) => event === 'loading');
  expect(loading.at(0)?.['bytes']).toBe(0);
  expect(loading.at(-1)?.['bytes']).toBe(loading.at(-1)?.['total']);
});

test('a stream says the ids of done, the first one alone', async () => {
  await using engine = await start();
  engine.send({ id: 9, op: 'generate', prompt, max_new: 20, ignore_eos: true, stream: true });
  const done = await engine.next('done');
  const streamed = engine.events.filter(({ event }) => event === 'tokens');
  expect(streamed.every(({ id }) => id === 9)).toBe(true);
  expect(streamed.flatMap(({ ids }) => ids as number[])).toEqual(done['ids']);
  expect(streamed[0]?.['ids']).toHaveLength(1);
});

test('requests wait for one another, and the wait is in the time to the first token', async () => {
  await using engine = await start();
  for (const id of [1, 2]) engine.send({ id, op: 'generate', prompt, max_new: 30, ignore_eos: true });
  const first = await engine.next('done');
  const second = await engine.next('done');
  expect([first['id'], second['id']]).toEqual([1, 2]);
  expect(second['ids']).toEqual(first['ids']);
  const wait = (first['timings'] as Record<string, number>)['predicted_ms'] ?? Number.NaN;
  expect(second['ttft_ms']).toBeGreaterThan(wait);
});

test.each<[string | Json, string, string]>([
  ['{"id":1,', 'malformed', 'the line is not JSON'],
  ['[1]', 'malformed', 'the line is not a JSON object'],
  [{ id: 'x', op: 'stats' }, 'malformed', 'id must be a whole number, got "x"'],
  [{ id: 1 }, 'malformed', 'op is missing: generate, score, cancel, stats, reset or quit'],
  [{ op: 'stats' }, 'malformed', 'stats needs an id, so that its answer can name it'],
  [{ id: 1, op: 'dance' }, 'unknown_op', 'no such op: dance; generate, score, cancel, stats, reset or quit'],
  [{ id: 1, op: 'generate', max_new: 3 }, 'bad_request', 'prompt is missing: an array of token ids'],
  [{ id: 1, op: 'generate', prompt: [1] }, 'bad_request', 'max_new is missing: how many tokens to generate'],
  [{ id: 1, op: 'generate', prompt: [], max_new: 3 }, 'bad_request', 'the prompt has no tokens'],
  [
    { id: 1, op: 'generate', prompt: [3, 1.5], max_new: 3 },
    'bad_request',
    'prompt[1] is not a token id: 1.5',
  ],
  [
    { id: 1, op: 'generate', prompt: [3, 128], max_new: 3 },
    'bad_request',
    'prompt[1] is 128: token ids are 0..127',
  ],
  [
    '{"id":1,"op":"generate","prompt":[3,18446744073709551615],"max_new":3}',
    'bad_request',
    'prompt[1] is not a token id: 18446744073709551615',
  ],
  [
    '{"id":1,"op":"generate","prompt":[3],"max_new":3,"seed":18446744073709551615}',
    'bad_request',
    'seed must be a whole number in -9223372036854775808..9223372036854775807, got 18446744073709551615',
  ],
  [
    { id: 1, op: 'generate', prompt: [3], max_new: 0 },
    'bad_request',
    'max_new must be a whole number in 1..2147483647, got 0',
  ],
  [
    { id: 1, op: 'generate', prompt: [3], max_new: 3, top_p: 0 },
    'bad_request',
    'top_p must be a number above 0.0 up to 1.0, got 0',
  ],
  [
    { id: 1, op: 'generate', prompt: [3], max_new: 3, temprature: 1 },
    'bad_request',
    'unknown field "temprature"; did you mean "temperature"?',
  ],
  [
    { id: 1, op: 'generate', prompt: [3], max_new: 64 },
    'bad_request',
    'a prompt of 1 tokens + max_new 64 = 65 positions, the context holds 64 (--ctx)',
  ],
  [{ id: 1, op: 'score', tokens: [3] }, 'bad_request', 'score needs at least 2 tokens, got 1'],
])('%j is answered with an error, and the engine lives on', async (line, code, message) => {
  await using engine = await start('--ctx', '64');
  engine.send(line);
  const error = await engine.next('error');
  expect(error).toMatchObject({ code, message });
  expect((await engine.generate({ prompt, max_new: 2 })).ids).toHaveLength(2);
});

test('an id in flight is not taken twice', async () => {
  await using engine = await start();
  engine.send({ id: 5, op: 'generate', prompt, max_new: 400, ignore_eos: true });
  engine.send({ id: 5, op: 'generate', prompt, max_new: 4 });
  await engine.next('done');
  expect(await engine.next('error')).toMatchObject({ code: 'bad_request' });
});

test('a cancelled request is done with what it has, a waiting one with nothing', async () => {
  await using engine = await start('--ctx', '100000');
  engine.send({ id: 1, op: 'generate', prompt, max_new: 90_000, ignore_eos: true, stream: true });
  engine.send({ id: 2, op: 'generate', prompt, max_new: 90_000, ignore_eos: true });
  while (!engine.events.some(({ event }) => event === 'tokens'))
    await new Promise((resolve) => setTimeout(resolve, 5));
  engine.send({ id: 2, op: 'cancel' });
  engine.send({ id: 1, op: 'cancel' });
  const first = await engine.next('done');
  expect(first).toMatchObject({ id: 1, finish: 'cancelled' });
  expect((first['ids'] as number[]).length).toBeGreaterThan(0);
  expect(await engine.next('done')).toMatchObject({ id: 2, finish: 'cancelled', ids: [] });
  engine.send({ id: 2, op: 'cancel' });
  expect((await engine.generate({ prompt, max_new: 2 })).finish).toBe('length');
});

test('stop ids and the end token end an answer', async () => {
  await using engine = await start();
  const { ids } = await engine.generate({ prompt, max_new: 30 });
  const stop = ids[10] ?? -1;
  const done = await engine.generate({ prompt, max_new: 30, stop: [stop] });
  expect(done.finish).toBe('stop');
  expect(done.ids).toEqual(ids.slice(0, ids.indexOf(stop) + 1));
});

test('score agrees with generate: the greedy tokens are the best ones', async () => {
  await using engine = await start();
  const { ids, digest } = await engine.generate({ prompt, max_new: 12 });
  const tokens = [...prompt, ...ids.slice(0, -1)];
  engine.send({ id: 77, op: 'score', tokens });
  const score = await engine.next('score');
  expect((score['top1'] as number[]).slice(prompt.length - 1)).toEqual(ids.slice(0, -1));
  expect(score['next']).toBe(ids.at(-1));
  expect((score['digest'] as Json)['logits']).toBe(digest.logits);
  const logprobs = score['logprobs'] as number[];
  expect(logprobs).toHaveLength(tokens.length - 1);
  expect(logprobs.every((value) => value <= 0)).toBe(true);
});

test('stats are the sums since the start', async () => {
  await using engine = await start();
  const a = await engine.generate({ prompt, max_new: 10 });
  const b = await engine.generate({ prompt, max_new: 15 });
  engine.send({ id: 50, op: 'stats' });
  const stats = await engine.next('stats');
  expect(stats).toMatchObject({ id: 50, requests: 2, tokens: 25, prompt_tokens: 2 * prompt.length });
  const counters = stats['counters'] as Record<string, number>;
  for (const name of ['passes', 'rows', 'lookups', 'hit', 'cpu', 'file'] as const)
    expect(counters[name]).toBe(a.counters[name] + b.counters[name]);
});

test('it ends with 0 when stdin ends, after answering what it read', () => {
  const request = { id: 1, op: 'generate', prompt, max_new: 5, ignore_eos: true };
  const { code, stdout } = runStrata(['--model', model], `${JSON.stringify(request)}\n`);
  expect(code).toBe(0);
  const last = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as Json;
  expect(last).toMatchObject({ event: 'done', id: 1 });
  expect(runStrata(['--model', model]).code).toBe(0);
});

test('quit ends it with 0, and what is in flight is cancelled', async () => {
  await using engine = await start('--ctx', '100000');
  engine.send({ id: 1, op: 'generate', prompt, max_new: 90_000, ignore_eos: true });
  engine.send({ op: 'quit' });
  expect(await engine.next('done')).toMatchObject({ finish: 'cancelled' });
  expect(await engine.exited).toMatchObject({ code: 0 });
});

test.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)('%s ends it within seconds with %i, also in mid-request', async (signal, code) => {
  const engine = await start('--ctx', '100000');
  engine.send({ id: 1, op: 'generate', prompt, max_new: 90_000, ignore_eos: true, stream: true });
  while (!engine.events.some(({ event }) => event === 'tokens'))
    await new Promise((resolve) => setTimeout(resolve, 5));
  const from = performance.now();
  engine.child.kill(signal);
  expect(await engine.exited).toMatchObject({ code, signal: null });
  expect(performance.now() - from).toBeLessThan(5_000);
});

test('when nobody is left to hear it, it ends by itself', async () => {
  const engine = await start('--ctx', '100000');
  engine.send({ id: 1, op: 'generate', prompt, max_new: 90_000, ignore_eos: true });
  const from = performance.now();
  engine.child.stdin.destroy();
  engine.child.stdout.destroy();
  await engine.exited;
  expect(performance.now() - from).toBeLessThan(5_000);
});
