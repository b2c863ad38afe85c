// Spread between runs: of each arm, against the baseline's, and the word "steadier". Knows rates by block, no engine.

import type { Interval, OutputVerdict } from '../records/verdict.ts';
import { holm } from '../stats/holm.ts';
import { type Spread, type SpreadRatio, spreadOf, spreadRatio } from '../stats/spread.ts';
import { logRates, type RateTable } from './rates.ts';
import { FAMILY_ALPHA, type SpeedFinding } from './speed.ts';

export interface SpreadFinding {
  readonly arm: string;
  readonly class: string;
  /** Of ln tok/s between runs; null with fewer than two. */
  readonly spread: Spread | null;
  /** The arm's spread over the baseline's; null for the baseline or below four blocks. */
  readonly ratio: Interval | null;
  /** Smaller than the baseline's, by Holm over all arms and classes. */
  readonly isSmaller: boolean;
}

/** Every arm in every class, the baseline first. The family is that of the speeds, with an error of its own. */
export function judgeSpread(tables: readonly RateTable[]): SpreadFinding[] {
  const drafts = tables.flatMap((table) => {
    const logs = logRates(table);
    return table.arms.map((arm, index) => {
      const own = logs.flatMap((row) => row[index] ?? []);
      const pairs = logs.flatMap((row): [number, number][] => {
        const [base, each] = [row[0] ?? null, row[index] ?? null];
        return base === null || each === null ? [] : [[each, base]];
      });
      const ratio: SpreadRatio | null =
        index === 0
          ? null
          : spreadRatio(
              pairs.map(([each]) => each),
              pairs.map(([, base]) => base),
            );
      return { arm, class: table.class, spread: spreadOf(own), ratio, isBaseline: index === 0 };
    });
  });
  const compared = drafts.filter(({ isBaseline }) => !isBaseline);
  const steps = holm(
    compared.map(({ ratio }) => ratio?.p ?? 1),
    FAMILY_ALPHA,
  );
  return drafts.map((draft) => {
    const { arm, class: name, spread, ratio } = draft;
    const isRejected = steps[compared.indexOf(draft)]?.rejected === true;
    return {
      arm,
      class: name,
      spread,
      ratio: ratio === null ? null : [ratio.interval[0], ratio.ratio, ratio.interval[1]],
      isSmaller: isRejected && ratio !== null && ratio.ratio < 1,
    };
  });
}

/** Same output, equivalent mean, smaller spread: a gain that a mean does not show. */
export function isSteadier(
  output: OutputVerdict,
  speed: SpeedFinding,
  spread: SpreadFinding | undefined,
): boolean {
  const isSame = output === 'L0' || output === 'L1';
  return isSame && speed.speed === 'equivalent' && spread?.isSmaller === true;
}
