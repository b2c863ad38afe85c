// The key in a machine's card, which belongs to another room and is kept in a record as it was given.

/** Null where there is none. */
export function machineKeyOf(machine: unknown): string | null {
  if (typeof machine !== 'object' || machine === null || !('key' in machine)) return null;
  return typeof machine.key === 'string' ? machine.key : null;
}
