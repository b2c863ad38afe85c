// One side of a gate: what was measured, on which machine, with which weights, by which protocol. Read from plan, journal and verdict.

import type { EngineReady } from '../records/answer.ts';
import type { JournalEvent } from '../records/journal.ts';
import { machineKeyOf } from '../records/machine-key.ts';
import type { Plan } from '../records/plan.ts';
import type { ArmClassVerdict, Verdict } from '../records/verdict.ts';
import { type Attempt, goodAttempts, replay } from '../verdict/replay.ts';

export interface GateSide {
  /** The folder's name. */
  readonly name: string;
  readonly plan: Plan;
  readonly verdict: Verdict;
  /** Keys of the machine cards of its sessions. */
  readonly machines: readonly (string | null)[];
  readonly good: readonly Attempt[];
}

/** Reads the journal once. */
export function gateSide(record: {
  readonly name: string;
  readonly plan: Plan;
  readonly verdict: Verdict;
  readonly events: readonly JournalEvent[];
}): GateSide {
  const { name, plan, verdict, events } = record;
  const found = replay(plan, events);
  const machines = [...new Set(found.sessions.map(({ machine }) => machineKeyOf(machine)))];
  return { name, plan, verdict, machines, good: goodAttempts(found) };
}

/** Only runs with the same key may be compared: anything else compares machines, models or questions. */
export interface GateKey {
  readonly machine: string | null;
  /** Fingerprints of the weights, by arm. */
  readonly weights: Readonly<Record<string, string | null>>;
  /** The same of the weights that only draft. */
  readonly drafters: Readonly<Record<string, string | null>>;
  readonly protocol: string;
  readonly device: string | null;
}

export interface ArmFacts {
  /** Digest of the prefill's logits by class and text. */
  readonly prefill: Readonly<Record<string, string>>;
  /** Every size that the engine said at ready, in bytes, by name. */
  readonly sizes: Readonly<Record<string, number>>;
}

export function keyOf({ plan, verdict, machines, good }: GateSide): GateKey {
  const [machine = null] = machines;
  const readyOf = (arm: string) =>
    good.find(({ planned, ready }) => planned.arm === arm && ready !== null)?.ready;
  const byArm = (of: (ready: EngineReady) => string | null | undefined) =>
    Object.fromEntries(
      plan.arms.map(({ name }) => {
        const ready = readyOf(name);
        return [name, (ready === undefined || ready === null ? null : of(ready)) ?? null];
      }),
    );
  return {
    machine: machines.length === 1 ? machine : null,
    weights: byArm(({ fingerprint }) => fingerprint),
    drafters: byArm(({ draftFingerprint }) => draftFingerprint),
    protocol: plan.protocolSha256,
    device: verdict.device,
  };
}

export function armFacts({ good }: GateSide, arm: string): ArmFacts {
  const runs = good.filter(({ planned }) => planned.arm === arm);
  const prefill: Record<string, string> = {};
  for (const score of runs.flatMap((run) => run.scores)) {
    const key = `${score.class} ${score.prompt}`;
    if (score.logitsSha256 !== null) prefill[key] ??= score.logitsSha256;
  }
  return { prefill, sizes: sizesOf(runs.find((run) => run.ready !== null)?.ready?.raw) };
}

function sizesOf(raw: unknown): Record<string, number> {
  if (typeof raw !== 'object' || raw === null || !('sizes' in raw)) return {};
  const { sizes } = raw;
  if (typeof sizes !== 'object' || sizes === null) return {};
  return Object.fromEntries(
    Object.entries(sizes).filter(([name, value]) => /bytes$/.test(name) && typeof value === 'number'),
  );
}

export function rowOf({ verdict }: GateSide, arm: string, className: string): ArmClassVerdict | null {
  return verdict.arms.find((row) => row.arm === arm && row.class === className) ?? null;
}

/** Why the two must not be compared, each difference by name; empty when they may. */
export function keyDifferences(run: GateKey, baseline: GateKey): string[] {
  const found: string[] = [];
  const short = (text: string | null): string => (text === null ? 'unknown' : text.slice(0, 12));
  const hold = (name: string, own: string | null, base: string | null): void => {
    if (own === null || base === null)
      found.push(`${name} is not known of ${own === null ? 'the run' : 'the baseline'}`);
    else if (own !== base) found.push(`other ${name}: ${short(own)} instead of ${short(base)}`);
  };
  hold('machine', run.machine, baseline.machine);
  hold('protocol', run.protocol, baseline.protocol);
  hold('device', run.device, baseline.device);
  for (const arm of Object.keys(baseline.weights)) {
    for (const [name, of] of [
      ['weights', ({ weights }: GateKey) => weights],
      ['drafter', ({ drafters }: GateKey) => drafters],
    ] as const) {
      const [own, base] = [of(run)[arm] ?? null, of(baseline)[arm] ?? null];
      // An arm that never got ready is a missing cell, not another model; nor is one that drafts nothing.
      if (own !== null && base !== null && own !== base) {
        found.push(`other ${name} of ${arm}: ${short(own)} instead of ${short(base)}`);
      }
    }
  }
  return found;
}
