// The nearest valid name to a misspelt one. Knows strings only.

/** Edits (insert, delete, replace, swap of neighbours) that turn one word into the other. */
export function editDistance(from: string, to: string): number {
  const a = [...from];
  const b = [...to];
  let beforeLast: number[] = [];
  let last = b.map((_, j) => j + 1);
  last.unshift(0);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let best = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) best = Math.min(best, (beforeLast[j - 2] ?? 0) + 1);
      row.push(best);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}

/** Case, `-`, `_` and a leading `--` are not what people get wrong on purpose. */
const fold = (name: string): string => name.toLowerCase().replace(/[-_\s]/g, '');

/** The candidate a person most likely meant, or undefined when none is near enough to be worth saying. */
export function nearestName(name: string, candidates: Iterable<string>): string | undefined {
  const wanted = fold(name);
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const distance = editDistance(wanted, fold(candidate));
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  const allowed = Math.max(1, Math.floor(wanted.length / 3));
  return bestDistance <= allowed ? best : undefined;
}

/** All commands of Rota fit a line that is still read; all knobs of an engine do not. */
const FEW = 16;

/** `did you mean "slots"?`, else the valid names, when there are few enough to read. */
export function nameHint(name: string, candidates: readonly string[]): string {
  const nearest = nearestName(name, candidates);
  if (nearest !== undefined) return `did you mean "${nearest}"?`;
  if (candidates.length === 0) return 'none is valid here';
  const shown = candidates.slice(0, FEW).join(', ');
  return `valid: ${shown}${candidates.length > FEW ? `, … (${candidates.length})` : ''}`;
}
