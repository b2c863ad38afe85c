// A certificate of noise as a person reads it.

import type { Certificate } from '../core/records/certificate.ts';
import { percent, plural } from '../core/verdict/lines.ts';
import { drawTable } from './table.ts';

export function certificateReport(certificate: Certificate): string {
  const shares = certificate.classes[0]?.blocksNeeded.map(({ share }) => share) ?? [];
  const columns = [
    { head: 'class', align: 'left' },
    { head: 'noise', align: 'right' },
    { head: 'at most', align: 'right' },
    { head: 'drift a block', align: 'right' },
    { head: 'position', align: 'right' },
    ...shares.map((share) => ({ head: percent(share), align: 'right' }) as const),
  ] as const;
  const rows = certificate.classes.map((each) => [
    each.class,
    digits(each.spread),
    digits(each.spreadUpper),
    each.driftPerBlock === null ? 'n/a' : withP(each.driftPerBlock, each.driftP),
    withP(each.positionEffect, each.positionP),
    ...each.blocksNeeded.map(({ blocks }) => (blocks === null ? '>600' : String(blocks))),
  ]);
  const notes = [
    `noise: standard deviation of the ratio of identical runs between blocks, and its upper bound (95 %), from ${plural(certificate.blocks, 'block')}`,
    ...leftOut(certificate),
    'position: what running second in a block adds; p in brackets',
    'last columns: blocks that see such an effect with 80 % power, two arms, one class',
    ...(certificate.alarm === null ? [] : [`! ${certificate.alarm}`]),
  ];
  return `${drawTable(columns, rows)}\n\n${notes.join('\n')}\n`;
}

function leftOut({ blocks, disturbed = 0 }: Certificate): string[] {
  if (disturbed === 0) return [];
  return [`! others disturbed ${disturbed} of ${blocks + disturbed} blocks, which are left out`];
}

const digits = (share: number): string => `${Number((100 * share).toPrecision(2))} %`;

function withP(effect: number, p: number | null): string {
  return `${effect < 0 ? '' : '+'}${digits(effect)} (${p === null ? 'n/a' : p.toPrecision(2)})`;
}
