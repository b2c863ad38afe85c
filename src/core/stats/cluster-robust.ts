// How well coefficients are known when observations of one cluster share its noise. Knows numbers only.

import { grouped } from '../grouped.ts';
import { dot, type LeastSquares, solveLower } from './least-squares.ts';
import { inverseRootOfRest, type Matrix, times } from './symmetric.ts';

export interface Precision {
  readonly standardError: number;
  /** Of the t distribution by which its interval is made; far below the number of clusters when few of them carry the information. */
  readonly df: number;
}

interface Cluster {
  /** qᵀq of its rows: what share of each direction lies in it. */
  readonly share: Matrix;
  /** (1 − share)^(−1/2) */
  readonly unbias: Matrix;
  /** qᵀ · residuals of its rows */
  readonly score: readonly number[];
}

function clustersOf({ q, residuals }: LeastSquares, names: readonly string[]): Cluster[] {
  const rows = grouped([...names.keys()], (row) => names[row]);
  return [...rows.values()].map((own) => {
    const parts = q.map((direction) => own.map((row) => direction[row] ?? 0));
    const share = parts.map((a) => parts.map((b) => dot(a, b)));
    const rest = own.map((row) => residuals[row] ?? 0);
    return { share, unbias: inverseRootOfRest(share), score: parts.map((part) => dot(part, rest)) };
  });
}

/**
 * Bell and McCaffrey's estimate (2002; CR2), which is unbiased when noise is alike everywhere, and their degrees of freedom
 * (Satterthwaite): few clusters make the usual sandwich too sure of itself. By orthonormal columns nothing larger than terms × terms is
 * ever inverted. One for each column that was kept; null with fewer than two clusters.
 */
export function clusterRobust(fit: LeastSquares, names: readonly string[]): Precision[] | null {
  const clusters = clustersOf(fit, names);
  if (clusters.length < 2) return null;
  return fit.kept.map((_, column) => {
    // The coefficient is z · qᵀy.
    const z = solveLower(
      fit.r,
      fit.kept.map((__, i) => (i === column ? 1 : 0)),
    );
    const weights = clusters.map(({ unbias }) => times(unbias, z));
    const variance = clusters.reduce((sum, { score }, g) => sum + dot(weights[g] ?? [], score) ** 2, 0);
    return { standardError: Math.sqrt(variance), df: degreesOfFreedom(clusters, weights) };
  });
}

/** (Σ G_gg)² / Σ G_gh², where G_gh = w_g · (δ_gh share_g − share_g share_h) · w_h */
function degreesOfFreedom(clusters: readonly Cluster[], weights: readonly (readonly number[])[]): number {
  const seen = clusters.map(({ share }, g) => times(share, weights[g] ?? []));
  let trace = 0;
  let squares = 0;
  for (const [g, own] of seen.entries()) {
    for (const [h, other] of seen.entries()) {
      const value = (g === h ? dot(weights[g] ?? [], own) : 0) - dot(own, other);
      if (g === h) trace += value;
      squares += value * value;
    }
  }
  return squares === 0 ? 0 : (trace * trace) / squares;
}
