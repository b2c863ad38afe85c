// One engine from start to stop: every class's windows, then greedy texts. Owns the order of its questions; judges nothing.

import type { GreedyText, Scored } from '../../core/records/score.ts';
import { firstLoop, repeatedShare } from '../../core/score/repetition.ts';
import type { Guard } from '../../engines/guard.ts';
import { resolveCommand } from '../../engines/resolve.ts';
import { type EngineSession, openSession } from '../../engines/session.ts';
import type { Clock } from '../../machine/clock.ts';
import { defaultRequestTimeoutMs } from '../context.ts';
import { createAsker, type WindowAnswer, type WindowAsker } from './ask-window.ts';
import type { ScoreClass, ScoreShape, ScoreSubject } from './subject.ts';

export interface GreedyShape {
  /** Of each class. */
  readonly texts: number;
  readonly tokens: number;
}

export interface EngineWork {
  readonly subject: ScoreSubject;
  readonly classes: readonly ScoreClass[];
  readonly shape: ScoreShape;
  readonly greedy: GreedyShape;
  /** For the engine's own lines; its folder exists. */
  readonly logFile: string;
  readonly guard: Guard;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onReady: (vocab: number | null) => void;
  readonly fileOf: (className: string, window: number) => string;
  readonly onWindow: (className: string, window: number, answer: WindowAnswer) => Promise<void>;
  /** So many tokens were read or written since it was last called. */
  readonly onTokens: (className: string, tokens: number) => void;
}

export interface EngineScore {
  readonly scored: Scored;
  readonly texts: readonly GreedyText[];
}

/** Caches of experts are put back before each class and before its texts: no class depends on which others are asked for. */
export async function scoreEngine(work: EngineWork): Promise<EngineScore> {
  const { subject, classes, signal } = work;
  const command = resolveCommand(subject.descriptor, subject.knobs, {
    model: subject.model,
    binary: subject.binary,
  });
  await using session = await openSession({
    descriptor: subject.descriptor,
    ...command,
    logFile: work.logFile,
    guard: work.guard,
    clock: work.clock,
  });
  const { ready } = await session.ready(signal);
  work.onReady(ready.vocab);
  const asker = createAsker({ session, shape: work.shape, signal });
  const texts: GreedyText[] = [];
  for (const each of classes) {
    await session.reset(signal);
    await scoreWindows(work, asker, each);
    if (work.greedy.texts > 0) await session.reset(signal);
    texts.push(...(await writeTexts(work, session, each)));
  }
  const { name, descriptor, model, knobs } = subject;
  const lossy = [...new Set([...subject.lossy, ...ready.lossyKnobs])];
  const { fingerprint, device } = ready;
  const limits = ready.subject === undefined ? {} : { subject: ready.subject };
  return {
    scored: { name, engine: descriptor.name, model, knobs, lossy, fingerprint, device, ...limits },
    texts,
  };
}

async function scoreWindows(work: EngineWork, asker: WindowAsker, { class: name, windows }: ScoreClass) {
  for (const [index, tokens] of windows.entries()) {
    const answer = await asker.ask(tokens, work.fileOf(name, index));
    await work.onWindow(name, index, answer);
    work.onTokens(name, tokens.length);
    work.signal.throwIfAborted();
  }
}

async function writeTexts(
  { greedy, shape, signal, onTokens }: EngineWork,
  session: EngineSession,
  { class: name, windows }: ScoreClass,
): Promise<GreedyText[]> {
  const texts: GreedyText[] = [];
  for (const [index, window] of windows.slice(0, greedy.texts).entries()) {
    const prompt = window.slice(0, shape.context);
    const { result } = await session.generate(
      { prompt, maxNew: greedy.tokens, temperature: 0, topP: 1, seed: 1, ignoreEos: false, stop: [] },
      { timeoutMs: defaultRequestTimeoutMs(prompt.length, greedy.tokens), signal },
    );
    const { ids, tokens, finish, decodeMs } = result;
    texts.push({
      class: name,
      window: index,
      tokens,
      finish,
      repeatedShare: ids === null ? null : repeatedShare(ids),
      loop: ids === null ? null : firstLoop(ids),
      decodeMs,
    });
    onTokens(name, greedy.tokens);
  }
  return texts;
}
