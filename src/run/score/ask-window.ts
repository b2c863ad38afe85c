// One window to one engine: its opinion, with a file of logits where it can write one. Owns what a refusal means.

import { existsSync } from 'node:fs';
import { EngineError, UserError } from '../../core/errors.ts';
import type { ScoredTokens, ScoreRequest } from '../../engines/rota-dialect.ts';
import type { EngineSession } from '../../engines/session.ts';
import { RefusedError } from '../../engines/stdio-client.ts';
import { defaultRequestTimeoutMs } from '../context.ts';
import type { ScoreShape } from './subject.ts';

export interface WindowAnswer extends ScoredTokens {
  /** Null: the engine gives no distributions. */
  readonly logits: string | null;
}

export interface WindowAsker {
  ask(tokens: readonly number[], file: string): Promise<WindowAnswer>;
}

export interface AskerOptions {
  readonly session: EngineSession;
  readonly shape: ScoreShape;
  readonly signal: AbortSignal;
}

/** An engine that knows nothing of files is asked for one once. */
export function createAsker({ session, shape, signal }: AskerOptions): WindowAsker {
  let givesLogits: boolean | null = null;
  const timeoutMs = defaultRequestTimeoutMs(shape.window, shape.window);

  async function request(tokens: readonly number[], file: string | null): Promise<ScoredTokens> {
    const body: ScoreRequest = {
      tokens,
      ...(shape.rows === 'decode' ? { decodeFrom: shape.context } : {}),
      ...(file === null ? {} : { logitsOut: { file, from: shape.context } }),
    };
    const scored = await session.score(body, { timeoutMs, signal });
    if (scored === null || scored.logprobs.length !== tokens.length - 1)
      throw new EngineError('half of its score is missing or cannot be believed', { phase: 'score' });
    if (shape.rows === 'decode' && scored.prefillSha256 === null) {
      throw new EngineError(
        'the engine does not say where its prompt ended, so it may have read the whole text as one; use --rows prompt',
        { phase: 'score' },
      );
    }
    return scored;
  }

  /** Its refusal of a file and of the tokens are the same word: the second question tells them apart. */
  async function withoutFile(tokens: readonly number[]): Promise<WindowAnswer> {
    try {
      const scored = await request(tokens, null);
      givesLogits = false;
      return { ...scored, logits: null };
    } catch (error) {
      throw error instanceof RefusedError ? inWords(error) : error;
    }
  }

  return {
    async ask(tokens, file) {
      if (givesLogits === false) return { ...(await request(tokens, null)), logits: null };
      try {
        const scored = await request(tokens, file);
        givesLogits ??= existsSync(file);
        return { ...scored, logits: givesLogits ? file : null };
      } catch (error) {
        if (!(error instanceof RefusedError)) throw error;
        if (givesLogits === true || error.code === 'io') throw inWords(error);
        return await withoutFile(tokens);
      }
    },
  };
}

/** What a request cannot have is the user's to change; anything else is the engine's trouble. */
function inWords(error: RefusedError): Error {
  if (error.code !== 'bad_request') return error;
  return new UserError(
    error.message.replace(/^the engine refused: bad_request: /, 'the engine refuses a window: '),
    {
      where: '--window',
      hint: 'take smaller windows, or give the arm a longer context',
    },
  );
}
