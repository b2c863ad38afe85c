// Owns the guess how long one run takes: from the newest run here that was like it, else from the sizes. A guess is labelled, never
// a result. Reads earlier journals; changes nothing.

import { statSync } from 'node:fs';
import type { JournalEvent } from '../core/records/journal.ts';
import type { Plan, WarmupRule } from '../core/records/plan.ts';
import { runFolders } from '../results/list.ts';
import { readRun } from '../results/read.ts';

export interface ExpectedRun {
  readonly minutes: number;
  readonly source: string;
}

type Shape = Pick<Plan, 'protocol' | 'protocolSha256'>;

function durations(events: readonly JournalEvent[]): number[] {
  const begun = new Map<string, number>();
  return events.flatMap((event) => {
    if (event.type === 'run_start') begun.set(event.run, Date.parse(event.utc));
    const start = event.type === 'run_end' && event.status === 'ok' ? begun.get(event.run) : undefined;
    return start === undefined || event.type !== 'run_end' ? [] : [(Date.parse(event.utc) - start) / 60_000];
  });
}

const NEWEST = 20;

/** The mean of the good runs of the newest measurement of the very same protocol. */
export function expectedFromHistory(results: string, shape: Shape): ExpectedRun | null {
  const names = runFolders(results).filter((folder) => folder.name.includes(`-${shape.protocol}-`));
  for (const folder of names.slice(-NEWEST).reverse()) {
    try {
      const { plan, journal } = readRun(folder);
      const minutes = plan.protocolSha256 === shape.protocolSha256 ? durations(journal.events) : [];
      if (minutes.length === 0) continue;
      return {
        minutes: minutes.reduce((sum, each) => sum + each, 0) / minutes.length,
        source: `measured: ${folder.name}`,
      };
    } catch {
      // A record that cannot be believed tells no time either.
    }
  }
  return null;
}

/** Bytes a second from which a model is loaded, and the share of it that a token touches, for want of anything better. */
const ASSUMED_LOAD = 1e9;
const ASSUMED_READ = 1e10;
const ASSUMED_ACTIVE_SHARE = 0.05;
const ASSUMED_FLOOR_MS = 5;
const ASSUMED_START_S = 3;

interface Work {
  readonly warmup: WarmupRule;
  readonly workloads: readonly { readonly perBlock: number; readonly maxNew: number }[];
}

export function expectedFromSize(modelPath: string, work: Work): ExpectedRun | null {
  let bytes: number;
  try {
    bytes = statSync(modelPath).size;
  } catch {
    return null;
  }
  const msPerToken = ASSUMED_FLOOR_MS + (1000 * bytes * ASSUMED_ACTIVE_SHARE) / ASSUMED_READ;
  const measured = work.workloads.reduce((sum, each) => sum + each.perBlock * each.maxNew, 0);
  const longest = Math.max(...work.workloads.map((each) => each.maxNew));
  const windows = Math.max(work.warmup.windows, work.workloads.length + 3);
  const warmup = Math.max(work.warmup.floorTokens, windows * longest) + work.workloads.length * longest;
  const seconds = ASSUMED_START_S + bytes / ASSUMED_LOAD + ((measured + warmup) * msPerToken) / 1000;
  return { minutes: seconds / 60, source: 'a guess from the size of the model' };
}
