// A run that others disturbed and that the protocol does not want to keep. Thrown between windows, never inside one.

export class GuardTripped extends Error {
  constructor(seen: string, window: string) {
    super(`${seen} in ${window}`);
    this.name = 'GuardTripped';
  }
}
