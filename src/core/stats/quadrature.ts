// Numerical integration by panels of five Gauss–Legendre nodes. Pure mathematics; knows no distribution.

/** Nodes and weights on [−1, 1]. */
const GAUSS_5: readonly (readonly [number, number])[] = [
  [0, 0.5688888888888889],
  [0.5384693101056831, 0.4786286704993665],
  [-0.5384693101056831, 0.4786286704993665],
  [0.906179845938664, 0.2369268850561891],
  [-0.906179845938664, 0.2369268850561891],
];

/** The nodes of the panels between two bounds, each with its weight: for integrands that cost more than a list. */
export function nodesOf(from: number, to: number, panels: number): [node: number, weight: number][] {
  const half = (to - from) / panels / 2;
  return Array.from({ length: panels }, (_, panel) => from + (2 * panel + 1) * half).flatMap((centre) =>
    GAUSS_5.map(([node, weight]): [number, number] => [centre + node * half, weight * half]),
  );
}

export function integrate(of: (x: number) => number, from: number, to: number, panels: number): number {
  return nodesOf(from, to, panels).reduce((sum, [node, weight]) => sum + weight * of(node), 0);
}
