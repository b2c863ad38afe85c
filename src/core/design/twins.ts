// Arms that would run the very same command. Knows command lines only.

interface Command {
  readonly name: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Pairs of arms whose command line and environment are the same: comparing them would measure noise and call it an arm. */
export function twinArms(arms: readonly Command[]): [string, string][] {
  const seen = new Map<string, string>();
  const twins: [string, string][] = [];
  for (const arm of arms) {
    const env = Object.entries(arm.env).sort(([a], [b]) => (a < b ? -1 : 1));
    const key = JSON.stringify([arm.argv, env]);
    const twin = seen.get(key);
    if (twin === undefined) seen.set(key, arm.name);
    else twins.push([twin, arm.name]);
  }
  return twins;
}
