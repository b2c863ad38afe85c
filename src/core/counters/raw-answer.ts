// What is read of an engine's own answer, which a record keeps whole: no number of it is in the one vocabulary.

import type { GenerateResult } from '../records/answer.ts';

type Raw = Pick<GenerateResult, 'raw'>;

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** A number among its timings of the request; null where it gives none of that name. */
export function timing({ raw }: Raw, name: string): number | null {
  const value = fieldOf(fieldOf(raw, 'timings'), name);
  return typeof value === 'number' ? value : null;
}

/** Its number of the request, by which its ledger names the passes. */
export function requestOf({ raw }: Raw): number | null {
  const id = fieldOf(raw, 'id');
  return typeof id === 'number' && Number.isSafeInteger(id) ? id : null;
}
