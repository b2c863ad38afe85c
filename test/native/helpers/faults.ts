// The preloaded library of faults: which environment makes a child suffer them. The rules are described in native/faults/rules.h.

import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { bin } from './strata.ts';

type Values = Readonly<Record<string, string | number>>;

export type Fault = readonly [kind: string, values: Values];

/** The environment of a process that suffers these. */
export function suffering(...rules: readonly Fault[]): Record<string, string> {
  const text = rules.map(([kind, values]) =>
    [kind, ...Object.entries(values).map(([key, value]) => `${key}=${value}`)].join(','),
  );
  return { LD_PRELOAD: path.join(bin, 'librota_faults.so'), ROTA_FAULTS: text.join(';') };
}

/** A file whose presence switches rules with `when` on. */
export function createSwitch(
  folder: string,
  name = 'now',
): { readonly file: string; on(): void; off(): void } {
  const file = path.join(folder, name);
  return { file, on: () => writeFileSync(file, ''), off: () => rmSync(file, { force: true }) };
}

/** Does it for each, so many at once. */
export async function inTurns<T>(
  atOnce: number,
  all: readonly T[],
  act: (each: T) => Promise<void>,
): Promise<void> {
  for (let i = 0; i < all.length; i += atOnce) await Promise.all(all.slice(i, i + atOnce).map(act));
}
