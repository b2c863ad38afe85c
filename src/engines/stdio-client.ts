// Owns the conversation with an engine over stdin and stdout: a question goes out with an id and a time limit, its answer
// comes back or an error that says why not. Knows no process beyond its two pipes.

import type { Readable, Writable } from 'node:stream';
import { EngineError } from '../core/errors.ts';
import { createInbox, type StrayOutput } from './inbox.ts';
import { createLineSplitter } from './lines.ts';
import type { Message } from './message.ts';

export interface Ask {
  readonly body: Readonly<Record<string, unknown>>;
  readonly phase: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly onTokens?: ((message: Message) => void) | undefined;
}

export interface StdioClient {
  /** The engine's own word that it is ready. */
  readonly ready: Promise<Message>;
  ask(question: Ask): Promise<Message>;
  /** Sends and expects nothing. */
  tell(body: Readonly<Record<string, unknown>>): void;
  /** Nothing more will come: everybody who waits gets this error. */
  fail(error: Error): void;
  readonly stray: StrayOutput;
  readonly violation: string | null;
}

export interface StdioClientOptions {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly onLoading?: (message: Message) => void;
  readonly maxLineBytes?: number;
}

/** A done line of 100,000 tokens with its pass times is about 2 MiB. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

/** setTimeout takes no longer delays than this (24.8 days). */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The engine understood that it was asked and said no. It lives on. */
export class RefusedError extends EngineError {
  readonly code: string;
  constructor(message: Message, phase: string) {
    const code = String(message.body['code'] ?? 'no code');
    super(`the engine refused: ${code}: ${String(message.body['message'] ?? 'no message')}`, { phase });
    this.name = 'RefusedError';
    this.code = code;
  }
}

/** Rejects at the limit or when the signal fires. The timer only ever fires on a failure: it wakes nothing in a window. */
async function withLimit<T>(
  work: Promise<T>,
  limit: { readonly ms: number; readonly signal: AbortSignal | undefined; readonly onTimeout: () => Error },
): Promise<T> {
  limit.signal?.throwIfAborted();
  let timer: NodeJS.Timeout | undefined;
  let onAbort = (): void => {};
  try {
    return await new Promise<T>((resolve, reject) => {
      work.then(resolve, reject);
      timer = setTimeout(() => reject(limit.onTimeout()), Math.min(limit.ms, LONGEST_TIMER_MS));
      onAbort = () => reject(limit.signal?.reason);
      limit.signal?.addEventListener('abort', onAbort, { once: true });
    });
  } finally {
    clearTimeout(timer);
    limit.signal?.removeEventListener('abort', onAbort);
  }
}

export function createStdioClient(options: StdioClientOptions): StdioClient {
  const inbox = createInbox(options.onLoading ?? (() => {}));
  const splitter = createLineSplitter({
    maxBytes: options.maxLineBytes ?? MAX_LINE_BYTES,
    onLine: inbox.onLine,
    onTooLong: inbox.onTooLong,
  });
  options.stdout.on('data', splitter.push);
  options.stdout.on('error', inbox.fail);
  options.stdout.on('end', () => {
    const torn = splitter.end();
    if (torn !== null) inbox.onTornLine(torn);
  });
  const send = (body: object): void => {
    options.stdin.write(`${JSON.stringify(body)}\n`);
  };

  async function ask(question: Ask): Promise<Message> {
    if (inbox.failure !== null) throw inbox.failure;
    const { id, answer } = inbox.pending.open(question.onTokens);
    send({ id, ...question.body });
    try {
      const message = await withLimit(answer, {
        ms: question.timeoutMs,
        signal: question.signal,
        onTimeout: () => {
          const seconds = (question.timeoutMs / 1000).toFixed(1);
          return new EngineError(`no answer within ${seconds} s`, { phase: question.phase });
        },
      });
      if (message.event === 'error') throw new RefusedError(message, question.phase);
      return message;
    } finally {
      inbox.pending.abandon(id);
    }
  }

  return {
    ready: inbox.ready,
    ask,
    tell: send,
    fail: inbox.fail,
    stray: inbox.stray,
    get violation() {
      return inbox.violation;
    },
  };
}
