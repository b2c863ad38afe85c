// Owns the routing of what an engine says: each answer to the question it belongs to, a strict ear for answers that nobody
// asked for, and a count of everything that was no message. Knows no pipe and no dialect.

import { EngineError } from '../core/errors.ts';
import { type Message, parseMessage } from './message.ts';
import { createPending, type Pending } from './pending.ts';

export interface StrayOutput {
  /** Lines on stdout that were no message. */
  readonly count: number;
  /** The first of them, shortened. */
  readonly samples: readonly string[];
}

export interface Inbox {
  readonly pending: Pending;
  /** The engine's own word that it is ready. */
  readonly ready: Promise<Message>;
  onLine(line: Buffer): void;
  onTornLine(line: Buffer): void;
  onTooLong(beginning: Buffer): void;
  /** Nothing more will come: everybody who waits gets this error, and so does everybody who asks later. */
  fail(error: Error): void;
  readonly failure: Error | null;
  readonly stray: StrayOutput;
  /** The first breach of the contract: from then on no answer can be trusted. */
  readonly violation: string | null;
}

const MAX_SAMPLES = 20;
const SAMPLE_LENGTH = 300;

function createStray(): StrayOutput & { add(line: Buffer): void } {
  const samples: string[] = [];
  let count = 0;
  return {
    samples,
    get count() {
      return count;
    },
    add(line) {
      count += 1;
      if (samples.length < MAX_SAMPLES) samples.push(line.toString('utf8', 0, SAMPLE_LENGTH));
    },
  };
}

function createReady(): {
  readonly promise: Promise<Message>;
  resolve(message: Message): void;
  reject(error: Error): void;
} {
  let resolve: (message: Message) => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<Message>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  // The engine may die before anybody awaits it.
  promise.catch(() => {});
  return { promise, resolve, reject };
}

const BRACE = 0x7b;
/** Events that answer a request. */
const ANSWERS: ReadonlySet<string> = new Set(['tokens', 'done', 'score', 'stats', 'reset']);

export function createInbox(onLoading: (message: Message) => void): Inbox {
  const pending = createPending();
  const stray = createStray();
  const ready = createReady();
  let isReady = false;
  let violation: string | null = null;
  let failure: Error | null = null;

  function fail(error: Error): void {
    failure ??= error;
    ready.reject(failure);
    pending.rejectAll(failure);
  }

  function violate(what: string): void {
    violation ??= what;
    fail(new EngineError(`the engine broke the protocol: ${what}`, { phase: 'protocol' }));
  }

  function onAnswer(message: Message, id: number | null): void {
    const state = id === null ? 'unnamed' : pending.stateOf(id);
    if (id === null) violate(`a "${message.event}" that names no request`);
    else if (state === 'answered') violate(`request ${id} was answered twice`);
    else if (state === 'unknown') violate(`an answer to request ${id}, which was never asked`);
    else if (message.event === 'tokens') pending.tokens(id, message);
    else pending.resolve(id, message);
  }

  function onReady(message: Message): void {
    if (isReady) violate('it said ready twice');
    isReady = true;
    ready.resolve(message);
  }

  function onMessage(message: Message): void {
    switch (message.event) {
      case 'loading':
        onLoading(message);
        break;
      case 'ready':
        onReady(message);
        break;
      case 'error':
        // Without an id: the engine could not read a line. It can only be the one that is being waited for.
        onAnswer(message, message.id ?? pending.onlyId);
        break;
      default:
        if (ANSWERS.has(message.event)) onAnswer(message, message.id);
        else stray.add(Buffer.from(`unknown event "${message.event}"`));
    }
  }

  return {
    pending,
    ready: ready.promise,
    onLine(line) {
      const message = line[0] === BRACE ? parseMessage(line.toString('utf8')) : null;
      if (message === null) stray.add(line);
      else onMessage(message);
    },
    onTornLine: stray.add,
    onTooLong(beginning) {
      stray.add(beginning);
      if (pending.onlyId !== null) violate(`the answer to request ${pending.onlyId} is too long a line`);
    },
    fail,
    stray,
    get failure() {
      return failure;
    },
    get violation() {
      return violation;
    },
  };
}
