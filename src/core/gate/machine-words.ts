// Whether the machine itself was as fast in both sessions of a gate, by the calibration loop. Decides nothing: two hours of one machine may
// differ, and whoever reads a slower rate must see that.

import type { Calibration } from '../records/verdict.ts';
import type { GateSide } from './subject.ts';

/** Below this the loop's own noise is all there is. */
const CARE = 0.03;

export function machineWords(run: GateSide, baseline: GateSide): string {
  const [own, base] = [run.verdict.calibration, baseline.verdict.calibration];
  if (own === undefined || base === undefined) return '';
  const parts = (['arithmetic', 'memory'] as const).flatMap((part) => {
    const times = timesOf(own, base, part);
    return Math.abs(times - 1) < CARE ? [] : [`${part} ${times.toFixed(2)}×`];
  });
  return parts.length === 0
    ? ''
    : `; the machine itself took other times for the calibration loop than in the baseline: ${parts.join(', ')}`;
}

const timesOf = (own: Calibration, base: Calibration, part: 'arithmetic' | 'memory'): number =>
  own[part].medianMs / base[part].medianMs;
