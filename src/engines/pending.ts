// Owns who waits for which answer: one entry a request, settled once. Knows neither processes nor dialects.

import type { Message } from './message.ts';

export interface Pending {
  /** A new request: its id and the answer to come. */
  open(onTokens?: (message: Message) => void): { readonly id: number; readonly answer: Promise<Message> };
  /** What the id is to us: waiting, answered before, or never asked. */
  stateOf(id: number): 'waiting' | 'answered' | 'unknown';
  tokens(id: number, message: Message): void;
  resolve(id: number, message: Message): void;
  /** Nobody waits for it any more; a late answer to it is not a surprise. */
  abandon(id: number): void;
  rejectAll(error: Error): void;
  /** The one request in flight, or `null` when there are none or several. */
  readonly onlyId: number | null;
}

interface Entry {
  readonly resolve: (message: Message) => void;
  readonly reject: (error: Error) => void;
  readonly onTokens: ((message: Message) => void) | undefined;
}

export function createPending(): Pending {
  const entries = new Map<number, Entry>();
  const abandoned = new Set<number>();
  let lastId = 0;
  return {
    open(onTokens) {
      lastId += 1;
      const id = lastId;
      const answer = new Promise<Message>((resolve, reject) => {
        entries.set(id, { resolve, reject, onTokens });
      });
      // An engine may die before anybody awaits the answer.
      answer.catch(() => {});
      return { id, answer };
    },
    stateOf(id) {
      if (entries.has(id) || abandoned.has(id)) return 'waiting';
      return Number.isInteger(id) && id >= 1 && id <= lastId ? 'answered' : 'unknown';
    },
    tokens(id, message) {
      entries.get(id)?.onTokens?.(message);
    },
    resolve(id, message) {
      entries.get(id)?.resolve(message);
      entries.delete(id);
      abandoned.delete(id);
    },
    abandon(id) {
      if (entries.delete(id)) abandoned.add(id);
    },
    rejectAll(error) {
      for (const entry of entries.values()) entry.reject(error);
      entries.clear();
    },
    get onlyId() {
      const [id] = entries.keys();
      return entries.size === 1 && id !== undefined ? id : null;
    },
  };
}
