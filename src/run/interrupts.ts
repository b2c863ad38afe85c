// Owns Ctrl-C: the first asks the session to end cleanly, the second ends everything at once. Knows no engine.

import { EXIT, type ExitCode } from '../core/errors.ts';

/** Why a session ended early. Not a failure: everything that was measured stays, and it can be resumed. */
export class Interrupted extends Error {
  readonly signal: NodeJS.Signals;
  readonly exitCode: ExitCode;
  constructor(signal: NodeJS.Signals) {
    super(`interrupted by ${signal}`);
    this.name = 'Interrupted';
    this.signal = signal;
    this.exitCode = signal === 'SIGINT' ? EXIT.sigint : EXIT.sigterm;
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export interface Interrupts extends Disposable {
  readonly signal: AbortSignal;
}

export function listenForInterrupts(onSecond: (interrupted: Interrupted) => void): Interrupts {
  const controller = new AbortController();
  const onSignal = (signal: NodeJS.Signals): void => {
    const interrupted = new Interrupted(signal);
    if (controller.signal.aborted) onSecond(interrupted);
    else controller.abort(interrupted);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      for (const signal of SIGNALS) process.off(signal, onSignal);
    },
  };
}
