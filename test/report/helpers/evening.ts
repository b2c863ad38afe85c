// Four arms in three classes, as an evening's work would give, and the reports of what a record says.

import { type Look, NO_PAINT } from '../../../src/report/paint.ts';
import { terminalReport } from '../../../src/report/terminal.ts';
import { makeRecord, type RecordOptions, verdictOf } from '../../core/verdict/record.ts';

export const LOOK: Look = { paint: NO_PAINT, ascii: false, width: 120 };

/** Four arms in three classes, as an evening's work would give. */
export const evening: RecordOptions = {
  arms: ['base', 'ram', 't1', 'bias'],
  classes: ['enumeration', 'prose', 'code'],
  arm: (name) => (name === 'bias' ? { lossyKnobs: ['route-bias'] } : {}),
  ceilings: [200e6, 1.9e9],
  answer: ({ arm, class: name, block }) => {
    const rate = { enumeration: 310, prose: 201, code: 240 }[name] ?? 1;
    const factor = { base: 1, ram: 2.31, t1: 0.62, bias: 1.3 }[arm] ?? 1;
    const ids = arm === 'bias' ? new Array<number>(64).fill(7) : undefined;
    return {
      rate: rate * factor * (1 + 0.01 * ((block * arm.length) % 3)),
      ...(ids === undefined ? {} : { ids }),
    };
  },
};

export function made(options: RecordOptions) {
  const record = makeRecord(options);
  return { plan: record.plan, verdict: verdictOf(record) };
}

export const terminal = (options: RecordOptions, look = LOOK): string => {
  const { plan, verdict } = made(options);
  return terminalReport(plan, verdict, look);
};
