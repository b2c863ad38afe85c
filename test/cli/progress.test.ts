// What a person sees between windows: the live line of a terminal and the lines of a log.
import { describe, expect, it } from 'vitest';
import { createLiveLine } from '../../src/cli/live-line.ts';
import { duration, progressLine, runLine } from '../../src/cli/progress-line.ts';
import { createWatch } from '../../src/cli/watch.ts';
import type { Progress } from '../../src/run/progress.ts';

describe('progress', () => {
  const progress: Progress = {
    phase: 'measure',
    block: 2,
    blocks: 4,
    position: 3,
    positions: 4,
    arm: 'bias',
    label: '',
    attempt: 1,
    class: 'code',
    tokPerSec: 212.44,
    runsDone: 6,
    runsPlanned: 16,
    etaSeconds: 190.4,
    note: null,
  };
  it('as a live line and as a line of a log', () => {
    expect([
      progressLine(progress),
      progressLine({ ...progress, phase: 'warm-up', attempt: 2 }),
      progressLine({ ...progress, phase: 'launch', class: null, tokPerSec: null, etaSeconds: null }),
      progressLine({ ...progress, phase: 'ceiling', block: 0, etaSeconds: 360 }),
      runLine(progress),
      runLine({ ...progress, label: '[lossy: route-bias; model b.gguf]' }),
    ]).toMatchInlineSnapshot(`
      [
        "block 2/4 · arm bias (3/4) · code · 212.4 tok/s · 3 min 10 s left",
        "block 2/4 · arm bias (3/4) · attempt 2 · warming up code · 212.4 tok/s · 3 min 10 s left",
        "block 2/4 · arm bias (3/4) · starting",
        "measuring the ceilings · 6 min 0 s left",
        "run 7/16 · block 2/4 · arm bias (3/4) · 3 min 10 s left",
        "run 7/16 · block 2/4 · arm bias [lossy: route-bias; model b.gguf] (3/4) · 3 min 10 s left",
      ]
    `);
  });
  it('durations', () => {
    expect([0, 59.4, 60, 3599, 3600, 7384].map(duration)).toEqual([
      '0 s',
      '59 s',
      '1 min 0 s',
      '59 min 59 s',
      '1 h 0 min',
      '2 h 3 min',
    ]);
  });
  it('on a terminal one line is written over; elsewhere there is one line a run', () => {
    const told: string[] = [];
    const watch = (isTerminal: boolean) =>
      createWatch({
        isTerminal: { stdout: isTerminal, stderr: isTerminal },
        columns: 30,
        tell: (text) => told.push(text),
      });
    const feed = (each: ReturnType<typeof watch>): void => {
      each.onProgress({ ...progress, phase: 'launch' });
      each.onProgress(progress);
      each.onProgress({ ...progress, phase: 'stop', note: 'b1.p1.x is void: crashed' });
      each.onNotice('busy');
      each.end();
    };
    feed(watch(false));
    expect(told.splice(0)).toMatchInlineSnapshot(`
      [
        "run 7/16 · block 2/4 · arm bias (3/4) · 3 min 10 s left
      ",
        "b1.p1.x is void: crashed
      ",
        "note: busy
      ",
      ]
    `);
    feed(watch(true));
    const screen = told.join('');
    expect(screen.split('\n')).toHaveLength(3);
    expect(screen.startsWith('\r\u001b[2Kblock 2/4')).toBe(true);
    expect(screen.endsWith('\n')).toBe(true);
  });
  it('a live line never wraps, and clears only what it showed', () => {
    const told: string[] = [];
    const live = createLiveLine({
      isTerminal: { stdout: true, stderr: true },
      columns: 24,
      tell: (text) => told.push(text),
    });
    live.clear();
    expect(told).toEqual([]);
    live.show('x'.repeat(100));
    live.clear();
    expect(told).toEqual([`\r\u001b[2K${'x'.repeat(23)}`, '\r\u001b[2K']);
  });
});
