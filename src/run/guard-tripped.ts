// A run that others disturbed and that the protocol does not want to keep. Thrown between windows, never inside one.

export class GuardTripped extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'GuardTripped';
  }
}
