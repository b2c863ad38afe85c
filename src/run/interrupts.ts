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

/** How many parts of the program listen now; each ends what it began. */
let listening = 0;

/** For as long as the program lives: what becomes of a signal while no part of it listens. */
export function listenOtherwise(onSignal: (interrupted: Interrupted) => void): void {
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (listening === 0) onSignal(new Interrupted(signal));
    });
  }
}

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
  listening += 1;
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      for (const signal of SIGNALS) process.off(signal, onSignal);
      listening -= 1;
    },
  };
}

/** Work that ends what it began, and rejects, when the signal fires. Rejects with Interrupted then. */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  using interrupts = listenForInterrupts((second) => process.exit(second.exitCode));
  const result = await work(interrupts.signal);
  interrupts.signal.throwIfAborted();
  return result;
}
