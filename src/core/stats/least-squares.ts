// Least squares by a QR factorisation. A column that the ones before it already say is left out, and said. Knows numbers only.

export interface LeastSquares {
  /** Of each column; null: left out, because it is a combination of the columns before it. */
  readonly coefficients: readonly (number | null)[];
  /** Indices of the columns that were kept. */
  readonly kept: readonly number[];
  /** Orthonormal columns, one for each that was kept: q · r gives them back. */
  readonly q: readonly (readonly number[])[];
  /** Upper triangle: r[i][j] for i ≤ j. */
  readonly r: readonly (readonly number[])[];
  readonly residuals: readonly number[];
}

/** Of a column's length, what must be new in it: counts and bytes in double precision leave some 1e-13 of a combination. */
const NEW_SHARE = 1e-9;

export function dot(a: readonly number[], b: readonly number[]): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] ?? 0) * (b[i] ?? 0);
  return sum;
}

/** Takes the parts along `q` out of `vector`, and gives them. */
function takeOut(vector: number[], q: readonly (readonly number[])[]): number[] {
  return q.map((direction) => {
    const part = dot(direction, vector);
    for (let i = 0; i < vector.length; i++) vector[i] = (vector[i] ?? 0) - part * (direction[i] ?? 0);
    return part;
  });
}

/**
 * Gram and Schmidt's way, each column twice: then q is orthonormal to the last bits however alike the columns are (Giraud, Langou and
 * Rozložník 2005). The residuals are what the same leaves of y.
 */
export function leastSquares(columns: readonly (readonly number[])[], y: readonly number[]): LeastSquares {
  const kept: number[] = [];
  const q: number[][] = [];
  const r: number[][] = [];
  for (const [index, column] of columns.entries()) {
    const rest = [...column];
    const parts = takeOut(rest, q);
    const again = takeOut(rest, q);
    const length = Math.sqrt(dot(rest, rest));
    if (length <= NEW_SHARE * Math.sqrt(dot(column, column))) continue;
    kept.push(index);
    for (const [i, row] of r.entries()) row.push((parts[i] ?? 0) + (again[i] ?? 0));
    r.push([...new Array<number>(q.length).fill(0), length]);
    q.push(rest.map((value) => value / length));
  }
  const residuals = [...y];
  const first = takeOut(residuals, q);
  const second = takeOut(residuals, q);
  const solved = solveUpper(
    r,
    first.map((part, i) => part + (second[i] ?? 0)),
  );
  const coefficients = columns.map((_, index) => {
    const place = kept.indexOf(index);
    return place < 0 ? null : (solved[place] ?? 0);
  });
  return { coefficients, kept, q, r, residuals };
}

/** x of r · x = b. */
export function solveUpper(r: readonly (readonly number[])[], b: readonly number[]): number[] {
  const x = new Array<number>(b.length).fill(0);
  for (let i = b.length - 1; i >= 0; i--) {
    let rest = b[i] ?? 0;
    for (let j = i + 1; j < b.length; j++) rest -= (r[i]?.[j] ?? 0) * (x[j] ?? 0);
    x[i] = rest / (r[i]?.[i] ?? 1);
  }
  return x;
}

/** x of rᵀ · x = b. */
export function solveLower(r: readonly (readonly number[])[], b: readonly number[]): number[] {
  const x = new Array<number>(b.length).fill(0);
  for (let i = 0; i < b.length; i++) {
    let rest = b[i] ?? 0;
    for (let j = 0; j < i; j++) rest -= (r[j]?.[i] ?? 0) * (x[j] ?? 0);
    x[i] = rest / (r[i]?.[i] ?? 1);
  }
  return x;
}
