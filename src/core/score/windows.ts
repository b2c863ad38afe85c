// A text's tokens cut into windows of one length. Knows no text.

export interface WindowShape {
  /** Tokens a window. */
  readonly tokens: number;
  /** The most windows that are taken, spread evenly over the text. */
  readonly most: number;
  /** In front of every window; null where the model wants nothing there. */
  readonly bosId: number | null;
}

/** Of the windows that lie side by side; what is left at the end and fills no window is not used. */
export function cutWindows(ids: readonly number[], { tokens, most, bosId }: WindowShape): number[][] {
  const front = bosId === null ? [] : [bosId];
  const step = tokens - front.length;
  if (step < 1) throw new RangeError(`windows of ${tokens} tokens`);
  const available = Math.floor(ids.length / step);
  const count = Math.min(most, available);
  return Array.from({ length: count }, (_, i) => {
    const at = Math.floor((i * available) / count) * step;
    return [...front, ...ids.slice(at, at + step)];
  });
}
