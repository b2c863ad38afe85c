// The root of a monotone function by the Illinois form of false position. Pure mathematics.

/**
 * The x in [low, high] where `of` is 0; it must have another sign at each end. The ends are kept as a bracket, and the end that
 * stays put is halved in weight, so that it always converges (Dowell and Jarratt 1971).
 */
export function rootBetween(of: (x: number) => number, low: number, high: number, tolerance = 1e-12): number {
  let [a, b] = [low, high];
  let [atA, atB] = [of(a), of(b)];
  if (atA === 0) return a;
  if (atB === 0) return b;
  if (atA > 0 === atB > 0) throw new RangeError(`no root between ${low} and ${high}`);
  for (let step = 0; step < 200 && Math.abs(b - a) > tolerance * Math.max(1, Math.abs(b)); step++) {
    const next = (a * atB - b * atA) / (atB - atA);
    const value = of(next);
    if (value === 0) return next;
    if (value > 0 !== atB > 0) [a, atA] = [b, atB];
    else atA /= 2;
    const moved = Math.abs(next - b);
    [b, atB] = [next, value];
    if (moved <= (tolerance * Math.max(1, Math.abs(b))) / 4 && Math.abs(value) < tolerance) break;
  }
  return b;
}
