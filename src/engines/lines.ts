// Owns the cut of a byte stream into lines: at LF, CR or both, whatever the chunks, with a bound on a line's length. Knows no JSON.

export interface LineSplitter {
  push(chunk: Buffer): void;
  /** The stream ended: bytes that no line end followed, if any. */
  end(): Buffer | null;
}

const LF = 10;
const CR = 13;

/** The first line end at or after `from`, or -1. Chunks with neither are the common case of a long answer. */
function lineEnd(chunk: Buffer, from: number): number {
  const lf = chunk.indexOf(LF, from);
  const cr = chunk.subarray(from, lf < 0 ? chunk.length : lf).indexOf(CR);
  return cr < 0 ? lf : from + cr;
}

/**
 * Bytes become text only as whole lines, so a character cut by a chunk border is never lost. Empty lines are dropped: CR LF
 * is one end. A line longer than `maxBytes` is not kept in memory: `onTooLong` gets its beginning, once.
 */
export function createLineSplitter(options: {
  readonly maxBytes: number;
  readonly onLine: (line: Buffer) => void;
  readonly onTooLong: (beginning: Buffer) => void;
}): LineSplitter {
  let parts: Buffer[] = [];
  let length = 0;
  let isSkipping = false;

  function take(part: Buffer): void {
    if (isSkipping || part.length === 0) return;
    parts.push(part);
    length += part.length;
    if (length <= options.maxBytes) return;
    options.onTooLong(Buffer.concat(parts).subarray(0, 200));
    isSkipping = true;
    parts = [];
  }

  function finish(): Buffer | null {
    const line =
      isSkipping || length === 0 ? null : parts.length === 1 ? (parts[0] ?? null) : Buffer.concat(parts);
    parts = [];
    length = 0;
    isSkipping = false;
    return line;
  }

  return {
    push(chunk) {
      let from = 0;
      for (let end = lineEnd(chunk, from); end >= 0; end = lineEnd(chunk, from)) {
        take(chunk.subarray(from, end));
        from = end + 1;
        const line = finish();
        if (line !== null) options.onLine(line);
      }
      take(chunk.subarray(from));
    },
    end: finish,
  };
}
