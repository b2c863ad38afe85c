// A text's tokens cut into windows of one length. Knows no text.

export interface WindowShape {
  /** Tokens a window. */
  readonly tokens: number;
  /** The most windows that are taken, from the text's beginning. */
  readonly most: number;
  /** In front of every window; null where the model wants nothing there. */
  readonly bosId: number | null;
}

/** Side by side, none overlaps another; what is left at the end and fills no window is not used. */
export function cutWindows(ids: readonly number[], { tokens, most, bosId }: WindowShape): number[][] {
  const front = bosId === null ? [] : [bosId];
  const step = tokens - front.length;
  if (step < 1) throw new RangeError(`windows of ${tokens} tokens`);
  const count = Math.min(most, Math.floor(ids.length / step));
  return Array.from({ length: count }, (_, i) => [...front, ...ids.slice(i * step, (i + 1) * step)]);
}
