// Two distributions over one vocabulary, given as logits: how far the second is from the first. Numbers only.

/** Logits as an engine computes them: float32. All arithmetic on them is in double. */
export type Logits = Float32Array;

// Sums are Kahan's (1965): a vocabulary has a hundred thousand terms, whose rounding would add up to what is looked for. They are
// written out, because a call for each term takes half as long again.

/** ln Σ exp(logit), with the largest taken out first so that nothing overflows. */
export function logSumExp(logits: Logits): number {
  let largest = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < logits.length; i++) largest = Math.max(largest, logits[i] as number);
  let sum = 0;
  let lost = 0;
  for (let i = 0; i < logits.length; i++) {
    const next = Math.exp((logits[i] as number) - largest) - lost;
    const larger = sum + next;
    lost = larger - sum - next;
    sum = larger;
  }
  return largest + Math.log(sum);
}

/**
 * Kullback and Leibler's divergence (1951) of `other` from `reference`, Σ p ln(p / q) in nats with p the reference's
 * probabilities. Equal logits give exactly 0; what rounding leaves below 0 is 0. Infinite where `other` rules out what the
 * reference thinks possible; NaN where a logit is none.
 */
export function divergence(reference: Logits, other: Logits): number {
  if (reference.length !== other.length)
    throw new RangeError(`${reference.length} logits and ${other.length}`);
  const ofReference = logSumExp(reference);
  const ofOther = logSumExp(other);
  let sum = 0;
  let lost = 0;
  for (let i = 0; i < reference.length; i++) {
    const logP = (reference[i] as number) - ofReference;
    const p = Math.exp(logP);
    // A probability that is no more than 0 adds nothing, whatever the other thinks of it.
    if (p === 0) continue;
    const next = p * (logP - ((other[i] as number) - ofOther)) - lost;
    const larger = sum + next;
    // Infinity less itself is no number, and has lost none.
    lost = larger === Number.POSITIVE_INFINITY ? 0 : larger - sum - next;
    sum = larger;
  }
  return Math.max(0, sum);
}
