// The reading of a bundled engine's answers: absent is null, insane is null and named.

import { expect, test } from 'vitest';
import type { Message } from '../../src/engines/message.ts';
import { generateBody, readDone, readReady } from '../../src/engines/rota-dialect.ts';

function message(body: Record<string, unknown>): Message {
  return { event: String(body['event']), id: 1, body, nonFinite: false };
}

test('an empty answer knows nothing, and nothing becomes 0', () => {
  const { result, refusedFields } = readDone(message({ event: 'done', id: 1 }));
  expect(refusedFields).toEqual([]);
  expect(result).toMatchInlineSnapshot(`
    {
      "cachedPromptTokens": null,
      "counters": {
        "accepted": null,
        "bySource": {
          "cpu": null,
          "file": null,
          "hit": null,
          "pcie": null,
          "skipped": null,
        },
        "bytes": {
          "cpu": null,
          "dense": null,
          "engram": null,
          "file": null,
          "hit": null,
          "pcie": null,
        },
        "late": null,
        "lookups": null,
        "offered": null,
        "passes": null,
        "rows": null,
      },
      "decodeMs": null,
      "finish": null,
      "ids": null,
      "passMs": null,
      "prefillMs": null,
      "promptTokens": null,
      "raw": {
        "event": "done",
        "id": 1,
      },
      "text": null,
      "tokens": 0,
      "ttftMs": null,
    }
  `);
});

test.each([
  ['a negative count', { counters: { hit: -1 } }, ['counters.hit']],
  ['half a lookup', { counters: { lookups: 1.5 } }, ['counters.lookups']],
  ['a text for a number', { timings: { predicted_ms: '12' } }, ['timings.predicted_ms']],
  ['a negative time', { ttft_ms: -3 }, ['ttft_ms']],
  ['a count beyond exact numbers', { counters: { bytes: { cpu: 2 ** 60 } } }, ['counters.bytes.cpu']],
  ['an id that is none', { ids: [1, -2, 3] }, ['ids']],
  ['ids that are no list', { ids: 'abc' }, ['ids']],
  ['a pass time that is none', { pass_ms: [1, null] }, ['pass_ms']],
])('%s is refused by name', (_, body, refused) => {
  const { result, refusedFields } = readDone(message({ event: 'done', ...body }));
  expect(refusedFields).toEqual(refused);
  expect(JSON.stringify({ ...result, raw: null })).not.toMatch(/-1|1\.5|"12"|-3|-2|abc/);
});

test('tokens are counted by ids, else by the engine', () => {
  expect(readDone(message({ event: 'done', ids: [5, 6], timings: { predicted_n: 9 } })).result.tokens).toBe(
    2,
  );
  expect(readDone(message({ event: 'done', timings: { predicted_n: 9 } })).result.tokens).toBe(9);
});

test('the weights are the routed experts of every format and the rest; unknown when a part is', () => {
  const ready = {
    event: 'ready',
    formats: { Q2_0: 3, Q3_K: 2 },
    blob_bytes: { Q2_0: 10, Q3_K: 100 },
    sizes: { dense_bytes: 7, engram_bytes: 0 },
    lossy: ['route-bias', 3],
  };
  expect(readReady(message(ready)).weightBytes).toBe(237);
  expect(readReady(message(ready)).lossyKnobs).toEqual(['route-bias']);
  expect(readReady(message({ ...ready, blob_bytes: { Q2_0: 10 } })).weightBytes).toBeNull();
  expect(readReady(message({ event: 'ready' }))).toMatchObject({
    device: 'unknown',
    fingerprint: null,
    weightBytes: null,
  });
});

test('a request in the words of the protocol', () => {
  const request = { prompt: [1], maxNew: 8, temperature: 0, topP: 1, seed: 3, ignoreEos: true, stop: [9] };
  expect(generateBody(request, false)).toEqual({
    op: 'generate',
    prompt: [1],
    max_new: 8,
    temperature: 0,
    top_p: 1,
    seed: 3,
    ignore_eos: true,
    stop: [9],
    stream: false,
  });
});

test('times of passes are kept once, to whole microseconds; those that cannot be believed stay as they came', () => {
  const done = (pass_ms: unknown) => readDone(message({ event: 'done', id: 1, pass_ms, ids: [1, 2] })).result;
  expect(done([9.639726999999999, 0.0004, 4])).toMatchObject({
    passMs: [9.64, 0, 4],
    raw: { event: 'done', id: 1 },
  });
  expect(Object.keys(Object(done([1]).raw))).toEqual(['event', 'id']);
  expect(done([1, -2])).toMatchObject({ passMs: null, raw: { pass_ms: [1, -2] } });
});

test('the drafter’s fingerprint: told, told to be none, and not told', () => {
  const told = (more: object) => readReady(message({ event: 'ready', ...more })).subject;
  expect(told({ subject: 'synthetic subject: speed only' })).toBe('synthetic subject: speed only');
  expect(told({ subject: null })).toBeUndefined();
  const drafter = (more: object) => readReady(message({ event: 'ready', ...more })).draftFingerprint;
  expect(drafter({ draft_fingerprint: 'd00d' })).toBe('d00d');
  expect(drafter({ draft_fingerprint: null })).toBeNull();
  expect(drafter({})).toBeUndefined();
});
