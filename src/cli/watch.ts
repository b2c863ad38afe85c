// Shows a session as it goes: a live line on a terminal, one line a run elsewhere. Owns when something is printed; a session
// speaks between windows only, so nothing is ever printed inside one.
import type { OnProgress } from '../run/progress.ts';
import type { Context } from './context.ts';
import { createLiveLine } from './live-line.ts';
import { progressLine, runLine } from './progress-line.ts';

export interface Watch {
  readonly onProgress: OnProgress;
  readonly onNotice: (text: string) => void;
  end(): void;
}

export function createWatch(context: Pick<Context, 'isTerminal' | 'columns' | 'tell'>): Watch {
  const live = createLiveLine(context);
  const isLog = !context.isTerminal.stderr;
  const note = (text: string): void => {
    live.clear();
    context.tell(`${text}\n`);
  };
  return {
    onProgress(progress) {
      if (progress.note !== null) note(progress.note);
      if (isLog && progress.phase === 'launch') context.tell(`${runLine(progress)}\n`);
      live.show(progressLine(progress));
    },
    onNotice: (text) => note(`note: ${text}`),
    end: live.clear,
  };
}
