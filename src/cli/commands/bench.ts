// rota bench ...: the native benchmarks, alone on the machine. Owns the lock and the live line; flags, tables and exit codes are theirs.
import { existsSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { execa } from 'execa';
import { EngineError } from '../../core/errors.ts';
import { systemClock, utcOf } from '../../machine/clock.ts';
import { lockMachine } from '../../machine/lock.ts';
import { endedBy } from '../../machine/tool.ts';
import { interruptible } from '../../run/interrupts.ts';
import type { Context } from '../context.ts';
import { createLiveLine } from '../live-line.ts';
import { joined, timeLeft } from '../progress-line.ts';

const HELP = `
pool       whole experts (gate, up, SwiGLU, down) through the CPU pool, beside the read bandwidth of the same memory
neighbour  how much longer a pass takes beside busy processes on the same cores
decode     the pool inside a real decode beside the pool alone, and what a ledger costs; writes a model of some GB once

Flags behind the name go to the benchmark: rota bench pool --help lists them; with --json it prints one JSON object.

Examples:
  rota bench pool
  rota bench neighbour
  rota bench decode --formats Q3_K
  rota bench pool --formats Q3_K,Q2_0 --rows 1,4 --json`;

const SHARE = '--share-machine';
/** A log gets a line this often; a terminal has the live line. */
const LOG_LINE_MS = 30_000;

interface Progress {
  readonly done: number;
  readonly all: number;
  readonly what: string;
  readonly seconds_left: number | null;
}

export function benchCommand(context: Context) {
  return new Command('bench')
    .description('measure the native parts, each beside its ceiling')
    .argument('<benchmark>', 'pool, neighbour or decode')
    .argument('[args...]', `passed on as they are; ${SHARE}: although another rota measures on this machine`)
    .passThroughOptions()
    .addHelpText('after', HELP)
    .action((benchmark, args) => bench(context, benchmark, args));
}

async function bench(context: Context, benchmark: string, args: readonly string[]): Promise<void> {
  const program = join(context.root, 'native', 'build', 'host', 'bin', 'rota-bench');
  if (!existsSync(program))
    throw new EngineError('rota-bench is not built; run: rota build strata', { phase: 'build' });
  const given = args.filter((word) => word !== SHARE);
  // Its model lies where the others of this clone do.
  const place = benchmark === 'decode' && !given.some((word) => /^--(dir|help)\b/.test(word));
  const words = [benchmark, ...given, ...(place ? ['--dir', context.models] : [])];
  const measures = !words.includes('--help');
  using _lock = measures
    ? await lockMachine({
        clock: systemClock,
        command: `rota bench ${benchmark}`,
        folder: join(tmpdir(), `rota-bench-${process.pid}`),
        utc: utcOf(systemClock),
        guard: null,
        share: args.includes(SHARE),
      })
    : null;
  const child = execa(program, measures ? [...words, '--progress'] : words, {
    stdin: 'ignore',
    stdout: 'inherit',
    stderr: 'pipe',
    buffer: false,
    reject: false,
  });
  const watch = createBenchWatch(context);
  const readAll = async (): Promise<void> => {
    for await (const line of child.iterable({ from: 'stderr' })) watch.line(line);
  };
  const [{ exitCode, signal }] = await interruptible((interrupt) =>
    Promise.all([endedBy(interrupt, child), readAll()]),
  ).finally(watch.end);
  process.exitCode = exitCode ?? 128 + (signal === undefined ? 0 : constants.signals[signal]);
}

/** Lines of progress become the live line, or now and then a line of a log; whatever else it says is told as it is. */
export function createBenchWatch(
  context: Pick<Context, 'isTerminal' | 'columns' | 'tell'>,
  nowMs: () => number = () => systemClock.monotonicMs(),
) {
  const live = createLiveLine(context);
  let lastTold = nowMs();
  return {
    line(text: string): void {
      const progress = progressOf(text);
      if (progress === null) {
        live.clear();
        context.tell(`${text}\n`);
        return;
      }
      live.show(benchLine(progress));
      if (context.isTerminal.stderr || nowMs() - lastTold < LOG_LINE_MS) return;
      lastTold = nowMs();
      context.tell(`${benchLine(progress)}\n`);
    },
    end: live.clear,
  };
}

/** "Q3_K, rows 4 · 31 % · 2 min 10 s left" */
function benchLine({ done, all, what, seconds_left: left }: Progress): string {
  return joined([what, `${Math.floor((100 * done) / Math.max(1, all))} %`, timeLeft(left)]);
}

function progressOf(text: string): Progress | null {
  if (!text.startsWith('{"event":"progress"')) return null;
  return JSON.parse(text) as Progress;
}
