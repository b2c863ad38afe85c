// JSON whose bytes depend on the content alone: keys sorted, one spelling of every number. Refuses what JSON cannot carry.

/** Two spaces deep, ends with a newline. Throws on NaN, infinities and anything that is not plain data. */
export function stableJson(value: unknown): string {
  return `${JSON.stringify(plain(value, '$'), null, 2)}\n`;
}

/** The same on one line, without the newline: for logs and for hashing. */
export function stableJsonLine(value: unknown): string {
  return JSON.stringify(plain(value, '$'));
}

function plain(value: unknown, path: string): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') {
    if (!Number.isFinite(value))
      throw new TypeError(`${path} is ${value}: a number that is not known must be null`);
    return value === 0 ? 0 : value;
  }
  if (Array.isArray(value)) return value.map((item, index) => plain(item, `${path}[${index}]`));
  if (typeof value === 'object') {
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    // A null prototype keeps a key named __proto__ an ordinary key.
    const sorted: Record<string, unknown> = Object.create(null);
    for (const [key, item] of entries) sorted[key] = plain(item, `${path}.${key}`);
    return sorted;
  }
  throw new TypeError(`${path} is ${typeof value}: not plain data`);
}

/** To 12 significant digits, so that the last bit of a logarithm, which differs between machines, is never printed. */
export function rounded(value: number): number {
  return Number(value.toPrecision(12));
}

/** Every number of plain data to 12 significant digits. */
export function deepRounded<T>(value: T): T {
  if (typeof value === 'number') return rounded(value) as T;
  if (Array.isArray(value)) return value.map(deepRounded) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, deepRounded(item)])) as T;
}
