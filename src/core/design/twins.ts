// Arms that would measure the very same thing. Knows command lines and settings only.

import type { Sampling } from '../records/plan.ts';

export interface TwinCandidate {
  readonly name: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly sampling?: Sampling;
  /** Everything that decides what runs, in one form: defaults filled in, sizes in one unit. Absent: not known. */
  readonly settings?: unknown;
}

export interface Twins {
  readonly first: string;
  readonly second: string;
  /** `command`: the same words. `settings`: other words for the same, such as a default that is spelt out. */
  readonly by: 'command' | 'settings';
}

/** Pairs of arms that are the same: comparing them would measure noise and call it an arm. */
export function twinArms(arms: readonly TwinCandidate[]): Twins[] {
  const seen = new Map<string, string>();
  const twins: Twins[] = [];
  for (const arm of arms) {
    const byCommand = key('command', [arm.argv, sorted(arm.env), arm.sampling]);
    const bySettings = arm.settings === undefined ? undefined : key('settings', [arm.settings, arm.sampling]);
    const command = seen.get(byCommand);
    const settings = bySettings === undefined ? undefined : seen.get(bySettings);
    if (command !== undefined) twins.push({ first: command, second: arm.name, by: 'command' });
    else if (settings !== undefined) twins.push({ first: settings, second: arm.name, by: 'settings' });
    else {
      seen.set(byCommand, arm.name);
      if (bySettings !== undefined) seen.set(bySettings, arm.name);
    }
  }
  return twins;
}

function key(kind: string, parts: unknown): string {
  return `${kind} ${JSON.stringify(parts)}`;
}

function sorted(env: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1));
}
