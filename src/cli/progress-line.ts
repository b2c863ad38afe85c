// What a person sees between windows: where the run is and how long it takes still. Owns the words; knows no terminal.
import type { Phase, Progress } from '../run/progress.ts';

/** "block 2/4 · arm bias (3/4) · code · 212.4 tok/s · 3 min 10 s left" */
export function progressLine(progress: Progress): string {
  const { block, blocks, position, positions, attempt, class: className, tokPerSec } = progress;
  if (block === 0) return joined([PHASE_WORDS[progress.phase], timeLeft(progress.etaSeconds)]);
  return joined([
    `block ${block}/${blocks}`,
    `arm ${named(progress)} (${position}/${positions})`,
    attempt > 1 ? `attempt ${attempt}` : null,
    progress.phase === 'measure' ? className : joined([PHASE_WORDS[progress.phase], className], ' '),
    tokPerSec === null ? null : `${tokPerSec.toFixed(1)} tok/s`,
    timeLeft(progress.etaSeconds),
  ]);
}

/** One line a run, for a log: at its start. */
export function runLine(progress: Progress): string {
  const { block, blocks, position, positions, attempt, runsDone, runsPlanned } = progress;
  return joined([
    `run ${runsDone + 1}/${runsPlanned}`,
    `block ${block}/${blocks}`,
    `arm ${named(progress)} (${position}/${positions})`,
    attempt > 1 ? `attempt ${attempt}` : null,
    timeLeft(progress.etaSeconds),
  ]);
}

function named({ arm, label }: Progress): string {
  return label === '' ? arm : `${arm} ${label}`;
}

const PHASE_WORDS: Record<Phase, string> = {
  ceiling: 'measuring the ceilings',
  background: 'starting the background',
  launch: 'starting',
  'warm-up': 'warming up',
  measure: 'measuring',
  arbitrate: 'asking for the output',
  stop: 'stopping',
};

export function joined(parts: readonly (string | null)[], between = ' · '): string {
  return parts.filter((part) => part !== null).join(between);
}

export function timeLeft(seconds: number | null): string | null {
  return seconds === null ? null : `${duration(seconds)} left`;
}

export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}
