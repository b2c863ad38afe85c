// Powers of a small symmetric matrix, by Jacobi's rotations. Knows numbers only.

export type Matrix = readonly (readonly number[])[];

interface Eigen {
  readonly values: readonly number[];
  /** Each a unit vector. */
  readonly vectors: Matrix;
}

const SWEEPS = 60;

function eigenOf(matrix: Matrix): Eigen {
  const n = matrix.length;
  const a = matrix.map((row) => [...row]);
  const v = a.map((_, i) => a.map((__, j) => (i === j ? 1 : 0)));
  const at = (m: number[][], i: number, j: number): number => m[i]?.[j] ?? 0;
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    let off = 0;
    for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) off += at(a, p, q) ** 2;
    if (off < 1e-300) break;
    for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) rotate(a, v, p, q);
  }
  return { values: a.map((_, i) => at(a, i, i)), vectors: v };
}

/** Makes a[p][q] zero; the rows of v turn with it. */
function rotate(a: number[][], v: number[][], p: number, q: number): void {
  const apq = a[p]?.[q] ?? 0;
  if (apq === 0) return;
  const theta = ((a[q]?.[q] ?? 0) - (a[p]?.[p] ?? 0)) / (2 * apq);
  const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
  const c = 1 / Math.sqrt(t * t + 1);
  const s = t * c;
  const turn = (rows: number[][]): void => {
    const [rowP = [], rowQ = []] = [rows[p], rows[q]];
    rows[p] = rowP.map((value, i) => c * value - s * (rowQ[i] ?? 0));
    rows[q] = rowP.map((value, i) => s * value + c * (rowQ[i] ?? 0));
  };
  turn(a);
  for (const row of a) {
    const [x, y] = [row[p] ?? 0, row[q] ?? 0];
    row[p] = c * x - s * y;
    row[q] = s * x + c * y;
  }
  turn(v);
}

/** (1 − m)^(−1/2) for m between 0 and 1; a direction in which m is 1 is left out, as a pseudo-inverse does. */
export function inverseRootOfRest(m: Matrix): number[][] {
  const { values, vectors } = eigenOf(m);
  const scales = values.map((value) => (1 - value < 1e-10 ? 0 : 1 / Math.sqrt(1 - value)));
  return m.map((_, i) =>
    m.map((__, j) =>
      scales.reduce((sum, scale, e) => sum + scale * (vectors[e]?.[i] ?? 0) * (vectors[e]?.[j] ?? 0), 0),
    ),
  );
}

export const times = (matrix: Matrix, vector: readonly number[]): number[] =>
  matrix.map((row) => row.reduce((sum, value, i) => sum + value * (vector[i] ?? 0), 0));
