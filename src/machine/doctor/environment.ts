// The environment: variables that would set a knob in every arm alike. Knows no engine; it is told what was found.
import type { Finding } from './finding.ts';

/** `inherited`: the variables that are set. Rota keeps them from the engines, which surprises whoever set them. */
export function environment(inherited: readonly string[] | null): Finding {
  const name = 'environment';
  if (inherited === null)
    return { name, state: 'unknown', value: 'the descriptors cannot be read', remedy: 'rota engines' };
  if (inherited.length === 0) return { name, state: 'ok', value: 'no variable sets a knob', remedy: null };
  const value = `${inherited.join(', ')} would set knobs: kept from the engines, only an arm sets them`;
  return { name, state: 'warn', value, remedy: `unset ${inherited.join(' ')}` };
}
