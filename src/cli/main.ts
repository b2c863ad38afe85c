// The command line: knows the commands, turns what they throw into a message and an exit code. Owns no command's work.
import { resolve } from 'node:path';
import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { abCommand } from './commands/ab.ts';
import { askCommand } from './commands/ask.ts';
import { buildCommand } from './commands/build.ts';
import { doctorCommand } from './commands/doctor.ts';
import { enginesCommand } from './commands/engines.ts';
import { modelCommand } from './commands/model.ts';
import { reportCommand } from './commands/report.ts';
import { resultsCommand } from './commands/results.ts';
import { resumeCommand } from './commands/resume.ts';
import { runCommand } from './commands/run.ts';
import { whichCommand } from './commands/which.ts';
import { type Context, createContext } from './context.ts';
import { describeFailure } from './errors.ts';

function createProgram(context: Context): Command {
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
  const commands: readonly CommandUnknownOpts[] = [
    buildCommand(context),
    whichCommand(context),
    enginesCommand(context),
    runCommand(context),
    abCommand(context),
    resumeCommand(context),
    reportCommand(context),
    resultsCommand(context),
    askCommand(context),
  ];
  for (const command of commands) {
    command
      .option('--engines <folder>', 'where the descriptors are', context.engines)
      .option('--results <folder>', 'where the runs are', context.results);
  }
  program.hook('preAction', (_, command) => {
    const { engines, results } = command.opts();
    if (typeof engines === 'string') context.engines = resolve(engines);
    if (typeof results === 'string') context.results = resolve(results);
  });
  for (const command of [doctorCommand(context), ...commands, modelCommand(context)])
    program.addCommand(command);
  for (const command of [program, ...program.commands]) {
    command
      .exitOverride()
      .configureOutput({ writeOut: context.print, writeErr: context.tell, outputError: () => {} });
  }
  return program;
}

/** The command that was typed, if it is one: its help lists what it knows. */
function helpCommand(program: Command): string {
  const typed = program.commands.find((command) => command.name() === process.argv[2]);
  return typed === undefined ? 'rota --help' : `rota ${typed.name()} --help`;
}

function fail(error: unknown, context: Context, help: string): void {
  const versions = `rota ${context.version}, node ${process.version}, ${process.platform} ${process.arch}`;
  const { exitCode, text } = describeFailure(error, { versions, runFolder: context.runFolder, help });
  if (text !== '') context.tell(`${text}\n`);
  process.exitCode = exitCode;
}

async function main(): Promise<void> {
  const context = createContext(process);
  const program = createProgram(context);
  const help = helpCommand(program);
  // A reader that has seen enough (`rota results | head`) is no error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      fail(error, context, help);
      process.exit();
    });
  }
  try {
    await program.parseAsync(process.argv);
  } catch (error) {
    fail(error, context, help);
  }
}

await main();
