// Which blocks of a gate may be judged by their speed: those that nobody disturbed, on either side. Sees the load of others, no rate.

import { coresText } from '../verdict/foreign-load.ts';
import { plural } from '../verdict/lines.ts';
import type { GateSide } from './subject.ts';

/**
 * A neighbour may make a run look slower, and a baseline that was measured beside one makes any run look fast enough. So such blocks
 * neither pass nor fail; with too few others the rule is inconclusive, and the load is named.
 */
export function calmBlocks<T extends { readonly own: { readonly block: number } }>(
  pairs: readonly T[],
  run: GateSide,
  baseline: GateSide,
): { readonly calm: readonly T[]; readonly words: string } {
  const blocks = new Set(pairs.map(({ own }) => own.block));
  const found = [
    { side: 'the run', verdict: run.verdict },
    { side: 'the baseline', verdict: baseline.verdict },
  ].flatMap(({ side, verdict }) =>
    (verdict.foreignLoad?.disturbed ?? [])
      .filter(({ block }) => blocks.has(block))
      .map((block) => ({ side, block })),
  );
  const disturbed = new Set(found.map(({ block }) => block.block));
  const [worst] = [...found].sort((a, b) => (b.block.foreignCpuShare ?? 0) - (a.block.foreignCpuShare ?? 0));
  const words =
    worst === undefined
      ? ''
      : `; not judged by ${disturbed.size} of ${plural(blocks.size, 'block')}, measured beside others: block ${worst.block.block} of ${worst.side} beside ${coresText(worst.block)}`;
  return { calm: pairs.filter(({ own }) => !disturbed.has(own.block)), words };
}
