// What a soak asks: growing prompts, answers that are cancelled, streams, and lines that no engine should accept. Owns the mix, which
// one seed fixes.

/** A small generator of its own: the same seed asks the same. @param {number} seed */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const VOCAB = 128;
const LONGEST = 400;

/** @param {number} length @param {number} salt */
export function promptOf(length, salt) {
  return Array.from({ length }, (_, i) => (((i + 1) * 7919 * (salt + 1) + i * i * 31) % (VOCAB - 3)) + 3);
}

/** Lines that are answered with an error. @type {readonly ((id: number) => string)[]} */
const BAD = [
  () => '{"id":1,',
  () => '[1,2,3]',
  (id) => JSON.stringify({ id, op: 'dance' }),
  (id) => JSON.stringify({ id, op: 'generate', prompt: [], max_new: 4 }),
  (id) => JSON.stringify({ id, op: 'generate', prompt: [3, VOCAB], max_new: 4 }),
  (id) => JSON.stringify({ id, op: 'generate', prompt: [3], max_new: 1 << 30 }),
  (id) => JSON.stringify({ id, op: 'generate', prompt: promptOf(5000, id), max_new: 4 }),
  (id) => `{"id":${id},"op":"generate","max_new":1,"prompt":[${'['.repeat(2000)}${']'.repeat(2000)}]}`,
  (id) => JSON.stringify({ id, op: 'stats', [`x${'y'.repeat(20_000)}`]: 1 }),
];

/**
 * @typedef {{line: string, wants: 'done' | 'error', cancelAfterMs: number | null}} Ask
 * @param {number} id
 * @param {() => number} next
 * @returns {Ask}
 */
export function askOf(id, next) {
  const kind = next();
  if (kind < 0.1) {
    const make = BAD[Math.floor(next() * BAD.length)] ?? (() => '');
    return { line: make(id), wants: 'error', cancelAfterMs: null };
  }
  // Prompts grow over a conversation of forty turns, then one begins anew.
  const length = Math.max(1, Math.floor(((id % 40) / 40) * LONGEST));
  const cancelled = kind < 0.35;
  const body = {
    id,
    op: 'generate',
    prompt: promptOf(length, id % 7),
    max_new: cancelled ? 150 : 4 + Math.floor(next() * 12),
    ignore_eos: true,
    temperature: next() < 0.5 ? 0 : 0.8,
    top_p: 0.9,
    seed: id,
    stream: next() < 0.5,
  };
  return { line: JSON.stringify(body), wants: 'done', cancelAfterMs: cancelled ? next() * 40 : null };
}
