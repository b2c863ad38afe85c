// The command line: knows the commands, turns what they throw into a message and an exit code. Owns no command's work.
import { resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { UserError } from '../core/errors.ts';
import { listenOtherwise } from '../run/interrupts.ts';
import { nameHint } from '../schema/nearest.ts';
import { type Context, createContext } from './context.ts';
import { describeFailure } from './errors.ts';

/** Only the command that was typed is loaded; without one that exists, all are, so that help and suggestions know them. */
const COMMANDS: Readonly<Record<string, () => Promise<(context: Context) => CommandUnknownOpts>>> = {
  doctor: async () => (await import('./commands/doctor.ts')).doctorCommand,
  build: async () => (await import('./commands/build.ts')).buildCommand,
  which: async () => (await import('./commands/which.ts')).whichCommand,
  engines: async () => (await import('./commands/engines.ts')).enginesCommand,
  run: async () => (await import('./commands/run.ts')).runCommand,
  ab: async () => (await import('./commands/ab.ts')).abCommand,
  resume: async () => (await import('./commands/resume.ts')).resumeCommand,
  aa: async () => (await import('./commands/aa.ts')).aaCommand,
  report: async () => (await import('./commands/report.ts')).reportCommand,
  fit: async () => (await import('./commands/fit.ts')).fitCommand,
  gate: async () => (await import('./commands/gate.ts')).gateCommand,
  results: async () => (await import('./commands/results.ts')).resultsCommand,
  ask: async () => (await import('./commands/ask.ts')).askCommand,
  score: async () => (await import('./commands/score.ts')).scoreCommand,
  model: async () => (await import('./commands/model.ts')).modelCommand,
  quantise: async () => (await import('./commands/quantise.ts')).quantiseCommand,
  bench: async () => (await import('./commands/bench.ts')).benchCommand,
};

/** Those that read no descriptor and no run. */
const WITHOUT_PLACES: ReadonlySet<string> = new Set(['doctor', 'model', 'quantise', 'bench']);

/** Those that make a model where Rota makes it by itself. */
const MAKERS: ReadonlySet<string> = new Set(['run', 'ab', 'aa', 'ask', 'score']);

async function createProgram(context: Context, typed: string | undefined): Promise<Command> {
  const program = new Command('rota')
    .description(
      'Measures how fast a mixture-of-experts model runs here, and whether a switch changes what it says.',
    )
    .version(context.version)
    .enablePositionalOptions()
    .showHelpAfterError(false)
    .addHelpText(
      'after',
      '\nExample:\n  rota run protocols/first-light.yaml\n  rota ab strata synth:mini-s:1 -a "" -b "--threads 1"',
    );
  const names = isCommand(typed) ? [typed] : Object.keys(COMMANDS);
  const loaded = await Promise.all(names.map((name) => COMMANDS[name]?.()));
  for (const create of loaded) if (create !== undefined) program.addCommand(create(context));
  for (const command of program.commands.filter((each) => !WITHOUT_PLACES.has(each.name()))) {
    command
      .option('--engines <folder>', 'where the descriptors are', context.engines)
      .option('--results <folder>', 'where the runs are', context.results);
    if (MAKERS.has(command.name()))
      command.option('--models <folder>', 'where models that Rota makes are kept', context.models);
  }
  program.hook('preAction', (_, command) => {
    const { engines, results, models } = command.opts();
    const folders = { '--engines': engines, '--results': results, '--models': models };
    for (const [option, folder] of Object.entries(folders)) {
      if (folder === '') throw new UserError('needs the name of a folder', { where: option });
    }
    if (typeof engines === 'string') context.engines = resolve(engines);
    if (typeof results === 'string') context.results = resolve(results);
    if (typeof models === 'string') context.models = resolve(models);
  });
  for (const command of [program, ...program.commands]) {
    command
      .exitOverride()
      .configureOutput({ writeOut: context.print, writeErr: context.tell, outputError: () => {} });
  }
  return program;
}

function isCommand(typed: string | undefined): typed is string {
  return typed !== undefined && Object.hasOwn(COMMANDS, typed);
}

function fail(error: unknown, context: Context, help: string): void {
  const versions = `rota ${context.version}, node ${process.version}, ${process.platform} ${process.arch}`;
  const { runFolder, resumable } = context;
  const { exitCode, text } = describeFailure(error, { versions, runFolder, resumable, help });
  if (text !== '') context.tell(`${text}\n`);
  process.exitCode = exitCode;
}

async function main(): Promise<void> {
  const context = createContext(process);
  const typed = process.argv[2];
  const help = isCommand(typed) ? `rota ${typed} --help` : 'rota --help';
  // A reader that has seen enough (`rota results | head`) is no error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  // Whom nobody hears cannot say so; what was asked for is done all the same.
  process.stderr.on('error', () => {});
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      fail(error, context, help);
      process.exit();
    });
  }
  listenOtherwise((interrupted) => {
    fail(interrupted, context, help);
    process.exit();
  });
  try {
    const asked = process.argv[3];
    if (typed === 'help' && asked !== undefined && !isCommand(asked) && asked !== 'help') {
      const hint = nameHint(asked, Object.keys(COMMANDS));
      throw new UserError(`there is no command "${asked}"`, { where: 'rota help', hint });
    }
    const program = await createProgram(context, typed);
    await program.parseAsync(process.argv);
    // A signal that came while nothing was waited for is heard when the loop turns: the first of these may still be in this turn.
    await setImmediate();
    await setImmediate();
  } catch (error) {
    fail(error, context, help);
  }
}

await main();
