// The pass-time model of one arm: ms = a + b·rows + c·pcie + d·file + e·cpu over the passes of its ledgers, and what of it is known.
// Knows no file and no other arm.

import type { LedgerPass } from '../records/ledger.ts';
import { clusterRobust } from '../stats/cluster-robust.ts';
import { dot, type LeastSquares, leastSquares, solveLower } from '../stats/least-squares.ts';
import { tQuantile } from '../stats/student.ts';
import { mean, squaresAroundMean } from '../stats/sums.ts';

export const TERMS = ['rows', 'pcie', 'file', 'cpu'] as const;
export type TermName = (typeof TERMS)[number];
export const SOURCES = ['pcie', 'file', 'cpu'] as const;
export type Source = (typeof SOURCES)[number];

/** What a source is counted by: lookups of experts there, or megabytes that they made move. */
export type Unit = 'lookup' | 'MB';

/** A pass that says all that the model needs. */
export interface Pass {
  readonly run: string;
  readonly block: number;
  readonly ms: number;
  readonly rows: number;
  readonly lookups: Readonly<Record<Source, number>>;
  readonly bytes: Readonly<Record<Source, number>>;
}

export interface FittedTerm {
  readonly term: 'constant' | TermName;
  /** ms, or ms for each row, lookup or MB. */
  readonly value: number;
  /** Null: one run says nothing of the noise between runs. */
  readonly standardError: number | null;
  readonly df: number | null;
  /** At 95 %. */
  readonly interval: readonly [number, number] | null;
  /** How much of its variance is due to its likeness to the other terms; 1: none. Null for the constant. */
  readonly inflation: number | null;
  /** Its part of the mean pass: ms. */
  readonly meanMs: number;
}

export interface LeftOutTerm {
  readonly term: TermName;
  readonly why: 'never varies' | 'follows from the other terms';
}

export interface PassFit {
  readonly unit: Unit;
  readonly passes: number;
  readonly runs: number;
  readonly blocks: number;
  readonly meanMs: number;
  readonly terms: readonly FittedTerm[];
  readonly leftOut: readonly LeftOutTerm[];
  /** Null: all passes took the same time. */
  readonly r2: number | null;
  /** Each block foretold by the others; null with fewer than two. */
  readonly heldOutR2: number | null;
  /** Standard deviation of what is left, ms. */
  readonly residualMs: number;
}

/** Null when the ledger lacks a number that the model needs. */
export function passOf(run: string, block: number, { rows, bySource, bytes, ms }: LedgerPass): Pass | null {
  const { pcie, file, cpu } = bySource;
  const known = [ms.total, rows, pcie, file, cpu, bytes.pcie, bytes.file, bytes.cpu];
  if (known.includes(null)) return null;
  return {
    run,
    block,
    ms: ms.total ?? 0,
    rows: rows ?? 0,
    lookups: { pcie: pcie ?? 0, file: file ?? 0, cpu: cpu ?? 0 },
    bytes: { pcie: bytes.pcie ?? 0, file: bytes.file ?? 0, cpu: bytes.cpu ?? 0 },
  };
}

function columnOf(passes: readonly Pass[], term: TermName, unit: Unit): number[] {
  return passes.map((pass) =>
    term === 'rows' ? pass.rows : unit === 'lookup' ? pass.lookups[term] : pass.bytes[term] / 1e6,
  );
}

const varies = (values: readonly number[]): boolean => values.some((value) => value !== values[0]);

interface Design {
  readonly terms: readonly TermName[];
  readonly columns: readonly (readonly number[])[];
  readonly fit: LeastSquares;
}

function designOf(passes: readonly Pass[], unit: Unit): Design {
  const terms = TERMS.filter((term) => varies(columnOf(passes, term, unit)));
  const columns = [passes.map(() => 1), ...terms.map((term) => columnOf(passes, term, unit))];
  const ms = passes.map((pass) => pass.ms);
  return { terms, columns, fit: leastSquares(columns, ms) };
}

/** Null with fewer passes than terms and one more: then nothing is left over to judge by. */
export function fitPasses(passes: readonly Pass[], unit: Unit): PassFit | null {
  if (passes.length < TERMS.length + 2) return null;
  const design = designOf(passes, unit);
  const { terms, fit } = design;
  const ms = passes.map((pass) => pass.ms);
  const rest = dot(fit.residuals, fit.residuals);
  const whole = squaresAroundMean(ms);
  return {
    unit,
    passes: passes.length,
    runs: new Set(passes.map(({ run }) => run)).size,
    blocks: new Set(passes.map(({ block }) => block)).size,
    meanMs: mean(ms),
    terms: fittedTerms(design, passes),
    leftOut: TERMS.flatMap((term): LeftOutTerm[] => {
      const place = terms.indexOf(term);
      if (place < 0) return [{ term, why: 'never varies' }];
      return fit.coefficients[place + 1] === null ? [{ term, why: 'follows from the other terms' }] : [];
    }),
    r2: whole > 0 ? 1 - rest / whole : null,
    heldOutR2: heldOutR2(passes, unit),
    residualMs: Math.sqrt(rest / Math.max(1, ms.length - fit.kept.length)),
  };
}

function fittedTerms({ terms, columns, fit }: Design, passes: readonly Pass[]): FittedTerm[] {
  const precision = clusterRobust(
    fit,
    passes.map(({ run }) => run),
  );
  return fit.kept.map((column, place): FittedTerm => {
    const value = fit.coefficients[column] ?? 0;
    const known = precision?.[place] ?? null;
    const half = known === null || known.df <= 0 ? null : tQuantile(0.975, known.df) * known.standardError;
    const values = columns[column] ?? [];
    return {
      term: column === 0 ? 'constant' : (terms[column - 1] ?? 'rows'),
      value,
      standardError: known?.standardError ?? null,
      df: known?.df ?? null,
      interval: half === null ? null : [value - half, value + half],
      inflation: column === 0 ? null : inflation(fit, place, values),
      meanMs: value * mean(values),
    };
  });
}

/** Of the coefficient's variance over what it would be if no other term were like this one. */
function inflation({ r, kept }: LeastSquares, place: number, values: readonly number[]): number {
  const z = solveLower(
    r,
    kept.map((_, i) => (i === place ? 1 : 0)),
  );
  return dot(z, z) * squaresAroundMean(values);
}

/** 1 − Σ(what the other blocks foretell wrongly)² / Σ(what their mean foretells wrongly)² */
function heldOutR2(passes: readonly Pass[], unit: Unit): number | null {
  const blocks = [...new Set(passes.map(({ block }) => block))];
  if (blocks.length < 2) return null;
  let wrong = 0;
  let wrongByMean = 0;
  for (const block of blocks) {
    const others = passes.filter((pass) => pass.block !== block);
    const { terms, fit } = designOf(others, unit);
    const middle = mean(others.map(({ ms }) => ms));
    const own = passes.filter((pass) => pass.block === block);
    const columns = terms.map((term) => columnOf(own, term, unit));
    for (const [i, { ms }] of own.entries()) {
      const foretold = columns.reduce(
        (sum, column, term) => sum + (fit.coefficients[term + 1] ?? 0) * (column[i] ?? 0),
        fit.coefficients[0] ?? 0,
      );
      wrong += (ms - foretold) ** 2;
      wrongByMean += (ms - middle) ** 2;
    }
  }
  return wrongByMean > 0 ? 1 - wrong / wrongByMean : null;
}
