// Fisher's exact test of two shares (1934). Knows counts only.

import { lnGamma } from './special.ts';

const lnChoose = (n: number, k: number): number => lnGamma(n + 1) - lnGamma(k + 1) - lnGamma(n - k + 1);

/** Two-sided p-value of "the same share": a of n against b of m. Tables as improbable as the one seen, or more, are added up. */
export function fisherExact(a: number, n: number, b: number, m: number): number {
  const hits = a + b;
  const probability = (k: number): number =>
    Math.exp(lnChoose(n, k) + lnChoose(m, hits - k) - lnChoose(n + m, hits));
  const seen = probability(a) * (1 + 1e-9);
  let p = 0;
  for (let k = Math.max(0, hits - m); k <= Math.min(n, hits); k++) {
    const each = probability(k);
    if (each <= seen) p += each;
  }
  return Math.min(1, p);
}
