// Owns what one line of an engine's stdout is: a message, or something else that an engine printed there. Knows no event by name.

export interface Message {
  readonly event: string;
  /** `null` on messages that belong to no request. */
  readonly id: number | null;
  readonly body: Readonly<Record<string, unknown>>;
  /** The line held NaN or an infinity, which JSON has no word for; they were read as `null`. */
  readonly nonFinite: boolean;
}

const STRING_OR_NON_FINITE = /"(?:[^"\\]|\\.)*"|-?\b(?:NaN|nan|Infinity|infinity|inf|Inf)\b/g;

function withoutNonFinite(line: string): string {
  return line.replace(STRING_OR_NON_FINITE, (token) => (token.startsWith('"') ? token : 'null'));
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

/** Numbers too large for a double become infinite while they are read. Such a value is not known either. */
function replaceInfinite(value: unknown, onFound: () => void): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    onFound();
    return null;
  }
  if (Array.isArray(value)) return value.map((item) => replaceInfinite(item, onFound));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, replaceInfinite(item, onFound)]),
  );
}

/** `null`: not a message. Engines print banners and progress where they should not; the caller counts and keeps them. */
export function parseMessage(line: string): Message | null {
  if (!line.trimStart().startsWith('{')) return null;
  let nonFinite = false;
  let object = parseObject(line);
  if (object === null) {
    object = parseObject(withoutNonFinite(line));
    nonFinite = object !== null;
  }
  if (object === null || typeof object['event'] !== 'string') return null;
  const body = replaceInfinite(object, () => {
    nonFinite = true;
  }) as Record<string, unknown>;
  const id = body['id'];
  return { event: object['event'], id: typeof id === 'number' ? id : null, body, nonFinite };
}
