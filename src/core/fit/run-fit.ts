// The pass-time models of a run: one for each arm, since a knob may change what anything costs. Data in, data out.

import type { LedgerPass } from '../records/ledger.ts';
import type { Bandwidths } from '../roofline/ceiling.ts';
import { checkLinks, type LinkCheck } from './links.ts';
import { fitPasses, type Pass, type PassFit, passOf, type Unit } from './pass-model.ts';

/** The passes of one run that ended well. */
export interface RunPasses {
  readonly run: string;
  readonly block: number;
  readonly arm: string;
  readonly passes: readonly LedgerPass[];
}

export interface ArmFit {
  readonly arm: string;
  /** Passes whose line lacks a number that the model needs. */
  readonly unusable: number;
  /** Null: too few passes. */
  readonly fit: PassFit | null;
  readonly links: readonly LinkCheck[];
}

export interface RunFit {
  readonly runFolder: string;
  readonly device: string | null;
  /** The classes whose passes were used, together: the model is about passes, whatever they say. */
  readonly classes: readonly string[];
  readonly arms: readonly ArmFit[];
}

export function fitArms(
  runs: readonly RunPasses[],
  how: {
    readonly arms: readonly string[];
    readonly unit: Unit;
    readonly device: string | null;
    readonly bandwidths: Bandwidths;
  },
): ArmFit[] {
  const {
    memoryReadBytesPerSec: cpu,
    fileReadBytesPerSec: file,
    toDeviceBytesPerSec: pcie = null,
  } = how.bandwidths;
  return how.arms.map((arm) => {
    const own = runs.filter((run) => run.arm === arm);
    const all = own.flatMap(({ run, block, passes }) => passes.map((pass) => passOf(run, block, pass)));
    const usable = all.filter((pass): pass is Pass => pass !== null);
    const fit = fitPasses(usable, how.unit);
    const links = fit === null ? [] : checkLinks(fit, usable, { pcie, file, cpu }, how.device);
    return { arm, unusable: all.length - usable.length, fit, links };
  });
}
