// rota score ENGINE: what arms think of held-out text beside a reference: perplexity, top-1 agreement, divergence, and how they write.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Command, Option } from '@commander-js/extra-typings';
import { UserError } from '../../core/errors.ts';
import type { ScoreReport } from '../../core/records/score.ts';
import { deepRounded, stableJson } from '../../core/stable-json.ts';
import { binaryPath } from '../../engines/build.ts';
import { inheritedNotice } from '../../engines/environment.ts';
import { startGuard } from '../../engines/guard.ts';
import { systemClock, utcOf } from '../../machine/clock.ts';
import { lockMachine } from '../../machine/lock.ts';
import { openTokenizer } from '../../model/tokenizer.ts';
import { scoreReport } from '../../report/score.ts';
import { findRun } from '../../results/list.ts';
import { interruptible } from '../../run/interrupts.ts';
import { type Scores, score } from '../../run/score/score.ts';
import { openScratch } from '../../run/score/scratch.ts';
import type { ScoreClass, ScoreSubject } from '../../run/score/subject.ts';
import { deriveRecord } from '../../run/verdict-file.ts';
import type { EngineDescriptor } from '../../schema/descriptor.ts';
import { turnedKnobs } from '../../schema/knobs.ts';
import { loadDescriptor } from '../../schema/load.ts';
import type { ProtocolModel } from '../../schema/override.ts';
import { countArgument, MODEL_WORDS, modelArgument, repeatedArgument, wholeArgument } from '../arguments.ts';
import type { Context } from '../context.ts';
import { makeModel } from '../make-model.ts';
import { lookOf } from '../printing.ts';
import {
  armArguments,
  commonKnobs,
  defaultReference,
  EXACT,
  type NamedKnobs,
  referenceArgument,
} from '../score-arms.ts';
import { type RateQuestion, ratesOf } from '../score-rates.ts';
import { bundledTexts, type ClassText, givenTexts, windowsOf } from '../score-texts.ts';
import { createScoreWatch } from '../score-watch.ts';

interface ScoreOptions {
  readonly arm: readonly string[];
  readonly reference?: string | undefined;
  readonly model: string;
  readonly knob: readonly string[];
  readonly text: readonly string[];
  readonly class: readonly string[];
  readonly window: number;
  readonly context: number;
  readonly windows: number;
  readonly rows: 'decode' | 'prompt';
  readonly texts: number;
  readonly maxNew: number;
  readonly scratch?: string | undefined;
  readonly run?: string | undefined;
  readonly shareMachine?: true | undefined;
  readonly json?: true | undefined;
  readonly ascii?: true | undefined;
}

export function scoreCommand(context: Context) {
  return new Command('score')
    .description('hold what arms think of held-out text against a reference: perplexity, top-1, divergence')
    .argument('<engine>', 'name of an engine')
    .option('--arm <setting>', `${EXACT}, or knob=value,knob=value; may be repeated`, repeatedArgument, [])
    .option(
      '--reference <model|arm>',
      'what every arm is held against; default: mini:teacher of mini, exact of others',
    )
    .option('-m, --model <model>', MODEL_WORDS, 'mini')
    .option(
      '-k, --knob <name=value>',
      'a knob of all arms and the reference; may be repeated',
      repeatedArgument,
      [],
    )
    .option(
      '--text <class=file>',
      'held-out text instead of the bundled ones; may be repeated',
      repeatedArgument,
      [],
    )
    .option('--class <name>', 'of the bundled texts only this one; may be repeated', repeatedArgument, [])
    .option('--window <tokens>', 'tokens of a window', wholeArgument(3, 1_000_000), 128)
    .option('--context <tokens>', 'of these, read as a prompt and not counted', countArgument, 32)
    .option('--windows <count>', 'most windows of a class, spread over its text', countArgument, 8)
    .addOption(
      new Option('--rows <kind>', 'how the counted tokens are read: routed as decode is, or as a prompt')
        .choices(['decode', 'prompt'] as const)
        .default('decode' as const),
    )
    .option('--texts <count>', 'greedy texts of each class', wholeArgument(0, 1_000), 2)
    .option('--max-new <tokens>', 'most tokens of a greedy text', countArgument, 128)
    .option('--scratch <folder>', 'where the logits lie meanwhile; default: the folder of the runs')
    .option('--run <run>', 'show the rates that a run measured of the same settings')
    .option('--share-machine', 'although another rota measures on this machine')
    .option('--json', 'as JSON, with every window')
    .option('--ascii', 'tables without line-drawing characters')
    .addHelpText(
      'after',
      `\nExamples:\n  rota score strata --arm ${EXACT} --arm bias=1.0\n  rota score strata -m model.gguf --reference teacher.gguf --arm ${EXACT} --text prose=held-out.txt`,
    )
    .action((engine, options) => scoreArms(context, engine, options));
}

async function scoreArms(context: Context, engine: string, options: ScoreOptions): Promise<void> {
  const task = await prepare(context, engine, options);
  const inherited = inheritedNotice(task.descriptor.knobs, process.env);
  if (inherited !== null) context.tell(`note: ${inherited}\n`);
  const found = await interruptible((signal) => measureScores(context, task, options, signal));
  const report: ScoreReport = deepRounded({
    schemaVersion: 1,
    utc: utcOf(systemClock),
    rota: context.version,
    ...found,
    window: options.window,
    context: options.context,
    rows: options.rows,
    sources: Object.fromEntries(task.texts.map((text) => [text.class, text.source])),
    rates: task.rates,
  });
  const text = options.json ? stableJson(report) : scoreReport(report, lookOf(context, options));
  context.print(`${text.trimEnd()}\n`);
}

interface Prepared {
  readonly descriptor: EngineDescriptor;
  readonly reference: ScoreSubject;
  readonly arms: readonly ScoreSubject[];
  readonly texts: readonly ClassText[];
  readonly classes: readonly ScoreClass[];
  readonly rates: ScoreReport['rates'];
}

/** Everything that can be wrong with what was typed is said before an engine starts. */
async function prepare(context: Context, engine: string, options: ScoreOptions): Promise<Prepared> {
  const descriptor = loadDescriptor(context.engines, engine);
  if (options.context > options.window - 2) {
    const hint = `at most ${options.window - 2} of a window of ${options.window}`;
    throw new UserError('leaves nothing to count', { where: '--context', hint });
  }
  const common = commonKnobs(descriptor, options.knob);
  const named = armArguments(descriptor, options.arm.length === 0 ? [EXACT] : options.arm, common);
  const wanted = modelArgument(options.model);
  const referenceWord = options.reference ?? defaultReference(wanted);
  const word = referenceArgument(descriptor, referenceWord, common, context.cwd);
  const texts = textsOf(context, options);
  const model = await findModel(context, wanted);
  const isOther = 'model' in word;
  const referenceModel = isOther ? await findModel(context, word.model) : model;
  const subjectOf = ({ name, knobs }: NamedKnobs, path: string): ScoreSubject => ({
    name,
    descriptor,
    model: path,
    binary: binaryPath(descriptor, context.root, knobs) ?? undefined,
    knobs,
    lossy: turnedKnobs(descriptor.knobs, knobs, 'lossy'),
  });
  const reference = isOther ? { name: referenceWord, knobs: common } : word.arm;
  const { window, windows } = options;
  const tokenizer = await openTokenizer(model);
  const referenceTokenizer = isOther ? await openTokenizer(referenceModel) : null;
  return {
    descriptor,
    reference: subjectOf(reference, referenceModel),
    arms: named.map((arm) => subjectOf(arm, model)),
    texts,
    classes: windowsOf(texts, { tokenizer, referenceTokenizer, window, windows }),
    rates:
      options.run === undefined ? null : ratesFrom(context, options.run, { descriptor, model, arms: named }),
  };
}

function textsOf(context: Context, { text, class: classes }: ScoreOptions): readonly ClassText[] {
  if (text.length === 0) return bundledTexts(context.root, classes);
  if (classes.length > 0)
    throw new UserError('is for the bundled texts', {
      where: '--class',
      hint: 'leave out --text or --class',
    });
  return givenTexts(text);
}

function ratesFrom(context: Context, word: string, question: RateQuestion): ScoreReport['rates'] {
  const folder = findRun(context.results, word);
  const of = ratesOf(deriveRecord(folder), question);
  if (of.length > 0) return { run: folder.name, of };
  throw new UserError('measured none of these arms on this engine and model', { where: `--run ${word}` });
}

async function findModel(context: Context, model: ProtocolModel): Promise<string> {
  const place = 'path' in model ? { path: resolve(context.cwd, model.path) } : model;
  return await makeModel(context, place);
}

/** Alone on the machine; no engine and no file of logits is left when this returns. */
async function measureScores(
  context: Context,
  { reference, arms, classes }: Prepared,
  options: ScoreOptions,
  signal: AbortSignal,
): Promise<Scores> {
  const logFolder = mkdtempSync(join(tmpdir(), 'rota-score-'));
  const watch = createScoreWatch(context);
  try {
    await using guard = await startGuard();
    using _lock = await lockMachine({
      clock: systemClock,
      command: `rota score ${reference.descriptor.name}`,
      folder: logFolder,
      utc: utcOf(systemClock),
      guard: guard.id,
      share: options.shareMachine === true,
      signal,
    });
    using scratch = openScratch(
      options.scratch === undefined ? context.results : resolve(context.cwd, options.scratch),
    );
    const { window, context: contextTokens, rows, texts, maxNew } = options;
    return await score({
      reference,
      arms,
      classes,
      shape: { window, context: contextTokens, rows },
      greedy: { texts, tokens: maxNew },
      scratch,
      logFolder,
      guard,
      clock: systemClock,
      signal,
      onProgress: watch.onProgress,
    });
  } finally {
    watch.end();
    rmSync(logFolder, { recursive: true, force: true });
  }
}
