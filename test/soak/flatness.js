// When memory and descriptors of a long run count as flat. Owns the rule; reads no process.
//
// The first samples, up to WARM_UP of them, are the engine's own growing to its working size and are left out. Of the rest:
//   descriptors: no sample has more than the first one has
//   memory:      the median of the last quarter is above that of the first quarter by at most 1 MiB or 1 %, whichever is more

/** Share of the requests that an engine may take to reach its working size. */
const WARM_UP = 0.2;
const ALLOWED_BYTES = 1 << 20;
const ALLOWED_SHARE = 0.01;

/** @typedef {{request: number, rssBytes: number, descriptors: number}} Sample */

/** @param {readonly number[]} values */
function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN;
}

/**
 * What is not flat, a line each; empty when everything is.
 * @param {readonly Sample[]} samples
 */
export function notFlat(samples) {
  const steady = samples.slice(Math.ceil(samples.length * WARM_UP));
  const first = steady[0];
  if (first === undefined || steady.length < 8) return [`${samples.length} samples are too few to say`];
  const problems = [];
  const most = Math.max(...steady.map(({ descriptors }) => descriptors));
  if (most > first.descriptors) problems.push(`open descriptors grew from ${first.descriptors} to ${most}`);
  const quarter = Math.floor(steady.length / 4);
  const [before, after] = [steady.slice(0, quarter), steady.slice(-quarter)].map((part) =>
    median(part.map(({ rssBytes }) => rssBytes)),
  );
  const allowed = Math.max(ALLOWED_BYTES, Number(before) * ALLOWED_SHARE);
  if (!(Number(after) - Number(before) <= allowed)) {
    problems.push(`memory grew from ${before} to ${after} bytes; ${Math.round(allowed)} more are allowed`);
  }
  return problems;
}
