// Owns a scoring: the reference first, its logits on disk, then one arm after the other beside it. One engine runs at a time.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { EngineError, UserError } from '../../core/errors.ts';
import type { ArmScore, GreedyText, Scored, WindowScore } from '../../core/records/score.ts';
import { summarise } from '../../core/score/summary.ts';
import type { Guard } from '../../engines/guard.ts';
import { logitsFileBytes } from '../../engines/logits-file.ts';
import type { Clock } from '../../machine/clock.ts';
import { sha256 } from '../../results/journal-line.ts';
import { compareWindow } from './compare.ts';
import { type EngineScore, type EngineWork, type GreedyShape, scoreEngine } from './engine-score.ts';
import type { Scratch } from './scratch.ts';
import type { ReferenceWindow, ScoreClass, ScoreShape, ScoreSubject } from './subject.ts';

export interface ScoreProgress {
  readonly subject: string;
  readonly position: number;
  readonly subjects: number;
  /** Null while the engine starts. */
  readonly class: string | null;
  /** Share of all tokens that are done. */
  readonly done: number;
  readonly secondsLeft: number | null;
}

export interface ScoreTask {
  readonly reference: ScoreSubject;
  readonly arms: readonly ScoreSubject[];
  readonly classes: readonly ScoreClass[];
  readonly shape: ScoreShape;
  readonly greedy: GreedyShape;
  readonly scratch: Scratch;
  readonly logFolder: string;
  readonly guard: Guard;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ScoreProgress) => void;
}

export interface Scores {
  readonly reference: Scored;
  readonly arms: readonly ArmScore[];
}

export async function score(task: ScoreTask): Promise<Scores> {
  const meter = createMeter(task);
  const key = (name: string, window: number): string => `${name} ${window}`;
  const windows = new Map<string, ReferenceWindow>();
  const work = workOf(task);
  meter.begin(task.reference.name);
  let vocab: number | null = null;
  const { scored: reference } = await named(task.reference, {
    ...work,
    subject: task.reference,
    logFile: join(task.logFolder, 'reference.log'),
    greedy: { texts: 0, tokens: 0 },
    onReady: (own) => {
      vocab = own;
      needRoom(task, own);
    },
    fileOf: (name, window) => join(task.scratch.path, `reference-${name}-${window}.logits`),
    onWindow: async (name, window, { top1, logits }) => {
      windows.set(key(name, window), { top1, logits });
    },
    onTokens: meter.add,
  });
  const arms: ArmScore[] = [];
  for (const subject of task.arms) {
    meter.begin(subject.name);
    const own: WindowScore[] = [];
    const { scored, texts } = await named(subject, {
      ...work,
      subject,
      logFile: join(task.logFolder, `arm-${arms.length + 1}.log`),
      onReady: (found) => refuseOtherVocabulary(subject, found, vocab),
      fileOf: () => join(task.scratch.path, 'arm.logits'),
      onWindow: async (name, window, answer) => {
        const theirs = windows.get(key(name, window));
        if (theirs === undefined) throw new Error(`the reference has no window ${window} of ${name}`);
        const place = { class: name, window, context: task.shape.context };
        own.push(await compareWindow(place, answer, theirs));
        if (answer.logits !== null) rmSync(answer.logits);
      },
      onTokens: meter.add,
    });
    arms.push(armScore(task.classes, scored, own, texts, arms[0] ?? null));
  }
  return { reference, arms };
}

type Common = Pick<EngineWork, 'classes' | 'shape' | 'greedy' | 'guard' | 'clock' | 'signal'>;

function workOf({ classes, shape, greedy, guard, clock, signal }: ScoreTask): Common {
  return { classes, shape, greedy, guard, clock, signal };
}

/** Of several engines it must be told which one failed. */
async function named({ name }: ScoreSubject, work: EngineWork): Promise<EngineScore> {
  try {
    return await scoreEngine(work);
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    const { phase, exit, logTail } = error;
    throw new EngineError(`${name}: ${error.message}`, { phase, exit, logTail });
  }
}

/** All of the reference's windows and one of an arm; an engine that does not say how many words it knows is taken at its word. */
function needRoom({ scratch, classes, shape }: ScoreTask, vocab: number | null): void {
  if (vocab === null) return;
  const count = classes.reduce((sum, { windows }) => sum + windows.length, 0);
  const rows = shape.window - 1 - shape.context;
  scratch.need((count + 1) * logitsFileBytes(vocab, rows), `the logits of ${count + 1} windows`);
}

function refuseOtherVocabulary(subject: ScoreSubject, own: number | null, reference: number | null): void {
  if (own === null || reference === null || own === reference) return;
  throw new UserError(`the reference has a vocabulary of ${reference}, ${subject.name} one of ${own}`, {
    where: '--reference',
    hint: 'distributions over different words cannot be compared',
  });
}

function armScore(
  classes: readonly ScoreClass[],
  scored: Scored,
  windows: readonly WindowScore[],
  texts: readonly GreedyText[],
  first: ArmScore | null,
): ArmScore {
  const of = <T extends { readonly class: string }>(list: readonly T[], name: string): T[] =>
    list.filter((each) => each.class === name);
  const summaries = classes.flatMap(({ class: name }) => {
    const own = of(windows, name);
    const summary = summarise({
      class: name,
      own,
      first: first === null ? null : of(first.windows, name),
      texts: of(texts, name),
      prefillSha256: digestOf(own),
    });
    return summary === null ? [] : [summary];
  });
  return { ...scored, classes: summaries, windows, texts };
}

/** Of the windows' digests, one a line. */
function digestOf(windows: readonly WindowScore[]): string | null {
  const digests = windows.map(({ prefillSha256 }) => prefillSha256);
  return digests.includes(null) ? null : sha256(digests.join('\n'));
}

interface Meter {
  begin(subject: string): void;
  add(className: string, tokens: number): void;
}

/** By tokens: the time of an engine's start is not foreseen. */
function createMeter({ reference, arms, classes, shape, greedy, clock, onProgress }: ScoreTask): Meter {
  const read = classes.reduce((sum, { windows }) => sum + windows.length * shape.window, 0);
  const written = classes.reduce(
    (sum, { windows }) => sum + Math.min(windows.length, greedy.texts) * greedy.tokens,
    0,
  );
  const total = read * (1 + arms.length) + written * arms.length;
  const beganMs = clock.monotonicMs();
  let subject = reference.name;
  let position = 0;
  let done = 0;
  const tell = (className: string | null): void => {
    const seconds = (clock.monotonicMs() - beganMs) / 1000;
    const secondsLeft = done === 0 ? null : (seconds / done) * Math.max(0, total - done);
    onProgress({
      subject,
      position,
      subjects: 1 + arms.length,
      class: className,
      done: done / total,
      secondsLeft,
    });
  };
  return {
    begin(name) {
      subject = name;
      position += 1;
      tell(null);
    },
    add(className, tokens) {
      done += tokens;
      tell(className);
    },
  };
}
