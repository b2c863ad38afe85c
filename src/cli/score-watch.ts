// Shows a scoring as it goes: a live line on a terminal, one line an engine elsewhere. Owns the words.
import type { ScoreProgress } from '../run/score/score.ts';
import type { Context } from './context.ts';
import { createLiveLine } from './live-line.ts';
import { joined, timeLeft } from './progress-line.ts';

export interface ScoreWatch {
  readonly onProgress: (progress: ScoreProgress) => void;
  end(): void;
}

/** "reference exact (1/3) · prose · 42 % · 1 min 10 s left" */
export function scoreLine({
  subject,
  position,
  subjects,
  class: name,
  done,
  secondsLeft,
}: ScoreProgress): string {
  return joined([
    `${position === 1 ? 'reference' : 'arm'} ${subject} (${position}/${subjects})`,
    name ?? 'starting',
    `${Math.floor(100 * done)} %`,
    timeLeft(secondsLeft),
  ]);
}

export function createScoreWatch(context: Pick<Context, 'isTerminal' | 'columns' | 'tell'>): ScoreWatch {
  const live = createLiveLine(context);
  return {
    onProgress(progress) {
      const line = scoreLine(progress);
      if (!context.isTerminal.stderr && progress.class === null) context.tell(`${line}\n`);
      live.show(line);
    },
    end: live.clear,
  };
}
