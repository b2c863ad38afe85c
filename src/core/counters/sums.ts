// Numbers of several answers or passes added up name by name. Knows the names, no answer and no pass.

import { type Known, knownSum } from '../known.ts';

export const SOURCES = ['hit', 'pcie', 'cpu', 'file', 'skipped'] as const;
export const CHANNELS = ['hit', 'pcie', 'cpu', 'file', 'dense', 'engram'] as const;

/** What one part does not know is not known of the sum, and without parts nothing is. */
export function sumsOf<K extends string>(
  names: readonly K[],
  parts: readonly Readonly<Record<K, Known>>[],
): Record<K, Known> {
  const sums = names.map((name) => [
    name,
    parts.length === 0 ? null : knownSum(parts.map((part) => part[name])),
  ]);
  return Object.fromEntries(sums);
}
