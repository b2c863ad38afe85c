// The errors Rota expects, and the exit code of each. Anything else that is thrown is a bug (exit 70).

export const EXIT = {
  pass: 0,
  regression: 1,
  usage: 2,
  couldNotMeasure: 3,
  inconclusive: 4,
  invalid: 5,
  bug: 70,
  sigint: 130,
  sigterm: 143,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A user's mistake: one line "where: message", and what to do about it. Exit 2. */
export class UserError extends Error {
  readonly exitCode: ExitCode = EXIT.usage;
  readonly where: string | undefined;
  readonly hint: string | undefined;
  constructor(message: string, options: { where?: string; hint?: string } = {}) {
    super(message);
    this.name = 'UserError';
    this.where = options.where;
    this.hint = options.hint;
  }
}

/** An engine that failed: in which phase, how it ended, and its last words. Exit 3. */
export class EngineError extends Error {
  readonly exitCode: ExitCode = EXIT.couldNotMeasure;
  readonly phase: string;
  readonly exit: number | NodeJS.Signals | undefined;
  readonly logTail: readonly string[];
  constructor(
    message: string,
    options: { phase: string; exit?: number | NodeJS.Signals | undefined; logTail?: readonly string[] },
  ) {
    super(message);
    this.name = 'EngineError';
    this.phase = options.phase;
    this.exit = options.exit;
    this.logTail = options.logTail ?? [];
  }
}

/** A record that contradicts itself or was altered. Exit 5. */
export class InvalidRecordError extends Error {
  readonly exitCode: ExitCode = EXIT.invalid;
  constructor(message: string) {
    super(message);
    this.name = 'InvalidRecordError';
  }
}
