// rota model ...: the model tool, with its own flags and exit codes passed through.
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { execa } from 'execa';
import { EngineError } from '../../core/errors.ts';
import { endedBy } from '../../machine/tool.ts';
import { ensureEngramMap } from '../../model/engram-map.ts';
import { interruptible } from '../../run/interrupts.ts';
import type { Context } from '../context.ts';

const HELP = `
synth        write a model of seeded random weights: --config NAME --seed N --out FILE
inspect      show a model's sizes, formats and tensors: FILE [--json]
fingerprint  print what identifies a model's weights: FILE [--json]
convert      a checkpoint as it is released (safetensors) into a GGUF and its DSpark sidecar, bit for bit: FOLDER --out FILE
extract-engram
             take the Engram tables out of the released safetensors: --from DIR or its shards, --out FILE
rank         order experts by their use in routes of an engine's dump-routes knob: --routes FILE... --out FILE
quantise     as rota quantise, from token ids alone: MODEL --text IDS... --out FILE

Examples:
  rota model synth --config mini-s --seed 1 --out mini-s.gguf
  rota model inspect mini-s.gguf
  rota model convert DeepSeek-V4.1-Flash --out v41.gguf
  rota model extract-engram --from model-00047-of-00048.safetensors model-00048-of-00048.safetensors --out m.engram.gguf
  rota model synth --help`;

export function modelToolPath(root: string): string {
  return join(root, 'native', 'build', 'host', 'bin', 'rota-model');
}

/** What the native reader cannot derive: it has no Unicode tables. A folder that is none is refused by the tool. */
export function prepareCheckpoint(context: Context, folder: string): void {
  const made = ensureEngramMap(folder);
  if (made !== undefined) context.tell(`${made}\n`);
}

/** Words that are neither a flag nor its value. */
function places(args: readonly string[]): readonly string[] {
  return args.filter((word, i) => {
    const before = args[i - 1] ?? '';
    return !word.startsWith('--') && (!before.startsWith('--') || before.includes('='));
  });
}

export function modelCommand(context: Context) {
  return new Command('model')
    .description('write, inspect and identify model files; rank experts')
    .argument('<verb>', 'synth, inspect, fingerprint, convert, extract-engram, rank or quantise')
    .argument('[args...]', 'passed on as they are')
    .passThroughOptions()
    .addHelpText('after', HELP)
    .action(async (verb, args) => {
      if (verb === 'convert') for (const word of places(args)) prepareCheckpoint(context, word);
      await runModelTool(context.root, [verb, ...args]);
    });
}

/** The model tool on the terminal's own streams; its exit code becomes Rota's. */
export async function runModelTool(root: string, argv: readonly string[]): Promise<void> {
  const tool = modelToolPath(root);
  if (!existsSync(tool))
    throw new EngineError('rota-model is not built; run: rota build strata', { phase: 'build' });
  const { exitCode, signal } = await interruptible((interrupt) =>
    endedBy(interrupt, execa(tool, argv, { stdio: 'inherit', reject: false })),
  );
  process.exitCode = exitCode ?? 128 + (signal === undefined ? 0 : constants.signals[signal]);
}
