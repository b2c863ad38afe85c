// Seeded random numbers that split by name, so that one decision never shifts another. Knows no clock and no global source.

/** A stream of random numbers. Streams with different names are independent and do not disturb each other. */
export interface Rng {
  /** Uniform in [0, 1), 32 random bits. */
  float(): number;
  /** Uniform whole number in [0, below). */
  int(below: number): number;
  /** A new list in random order (Fisher and Yates). */
  shuffle<T>(items: readonly T[]): T[];
  /** The stream of that name: the same whatever has been drawn from this one. */
  split(name: string): Rng;
}

export function createRng(seed: number | string): Rng {
  const key = String(seed);
  const next = sfc32(hashWords(key));
  const float = (): number => next() / 2 ** 32;
  const int = (below: number): number => {
    if (!Number.isSafeInteger(below) || below < 1 || below > 2 ** 32) throw new RangeError(`int(${below})`);
    // Draws above the largest multiple of `below` would favour small numbers: they are drawn again.
    const limit = 2 ** 32 - (2 ** 32 % below);
    let drawn = next();
    while (drawn >= limit) drawn = next();
    return drawn % below;
  };
  return {
    float,
    int,
    shuffle: (items) => {
      const list = [...items];
      for (let last = list.length - 1; last > 0; last--) {
        const other = int(last + 1);
        const kept = list[last] as (typeof list)[number];
        list[last] = list[other] as (typeof list)[number];
        list[other] = kept;
      }
      return list;
    },
    split: (name) => createRng(`${key}/${name.length}:${name}`),
  };
}

/** Chris Doty-Humphrey's sfc32: small, fast, passes PractRand. The first draws mix the seed and are thrown away. */
function sfc32(seed: readonly [number, number, number, number]): () => number {
  let [a, b, c, counter] = seed;
  const next = (): number => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  };
  for (let i = 0; i < 16; i++) next();
  return next;
}

/** Four words from a text: FNV-1a with four offsets, finished with MurmurHash3's mixer. */
function hashWords(text: string): [number, number, number, number] {
  const word = (offset: number): number => {
    let hash = offset;
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    hash ^= hash >>> 16;
    hash = Math.imul(hash, 0x85ebca6b);
    hash ^= hash >>> 13;
    hash = Math.imul(hash, 0xc2b2ae35);
    return hash ^ (hash >>> 16);
  };
  return [word(0x811c9dc5), word(0x9e3779b9), word(0x7f4a7c15), word(0x94d049bb)];
}
