// rota ask ENGINE "text": one question to one engine, the answer as it comes, and a line of counters.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { EngineError, UserError } from '../../core/errors.ts';
import type { EngineReady, GenerateRequest, GenerateResult } from '../../core/records/answer.ts';
import { binaryPath } from '../../engines/build.ts';
import { inheritedNotice } from '../../engines/environment.ts';
import { startGuard } from '../../engines/guard.ts';
import { resolveCommand } from '../../engines/resolve.ts';
import { type EngineSession, openSession } from '../../engines/session.ts';
import { systemClock, utcOf } from '../../machine/clock.ts';
import { lockMachine } from '../../machine/lock.ts';
import { createTextStream } from '../../model/text-stream.ts';
import { openTokenizer, type Tokenizer } from '../../model/tokenizer.ts';
import { Interrupted, interruptible } from '../../run/interrupts.ts';
import type { EngineDescriptor } from '../../schema/descriptor.ts';
import { loadDescriptor } from '../../schema/load.ts';
import {
  countArgument,
  knobArguments,
  MODEL_WORDS,
  modelArgument,
  numberArgument,
  repeatedArgument,
  wholeArgument,
} from '../arguments.ts';
import type { Context } from '../context.ts';
import { createLiveLine } from '../live-line.ts';
import { makeModel } from '../make-model.ts';

/** Long enough for a slow disk and a long answer; Ctrl-C ends it sooner. */
const TIMEOUT_MS = 3_600_000;

interface AskOptions {
  readonly model: string;
  readonly knob: readonly string[];
  readonly maxNew: number;
  readonly temperature: number;
  readonly topP: number;
  readonly seed: number;
  readonly ignoreEos?: true | undefined;
  readonly json?: true | undefined;
  readonly shareMachine?: true | undefined;
}

export function askCommand(context: Context) {
  return new Command('ask')
    .description('ask an engine one question; the answer goes to stdout, its counters to stderr')
    .argument('<engine>', 'name of an engine')
    .argument('<text>', 'the prompt')
    .option('-m, --model <model>', MODEL_WORDS, 'synth:mini-s:1')
    .option('-k, --knob <name=value>', 'a knob of the engine; may be repeated', repeatedArgument, [])
    .option('--max-new <count>', 'most tokens of the answer', countArgument, 64)
    .option('--temperature <number>', '0 is greedy', numberArgument(0, 100), 0)
    .option(
      '--top-p <number>',
      'share of the probability that is sampled from',
      numberArgument(0, 1, true),
      1,
    )
    .option('--seed <number>', 'of the sampling', wholeArgument(0, Number.MAX_SAFE_INTEGER), 1)
    .option('--ignore-eos', 'go on behind the end token')
    .option('--json', 'the whole answer as JSON')
    .option('--share-machine', 'although another rota measures on this machine')
    .addHelpText('after', '\nExample:\n  rota ask strata "Count to ten." -k threads=2 --max-new 32')
    .action((engine, text, options) => ask(context, engine, text, options));
}

async function ask(context: Context, engine: string, text: string, options: AskOptions): Promise<void> {
  const descriptor = loadDescriptor(context.engines, engine);
  if (text === '') throw new UserError('there is nothing to ask: the prompt is empty');
  const knobs = knobArguments(descriptor, options.knob);
  const inherited = inheritedNotice(descriptor.knobs, process.env);
  if (inherited !== null) context.tell(`note: ${inherited}\n`);
  const model = await makeModel(context, modelArgument(options.model));
  const tokenizer = await openTokenizer(model);
  const binary = binaryPath(descriptor, context.root, knobs) ?? undefined;
  const command = resolveCommand(descriptor, knobs, { model, binary });
  const logFolder = mkdtempSync(join(tmpdir(), 'rota-ask-'));
  const removeLog = (): void => rmSync(logFolder, { recursive: true, force: true });
  // A reader that has seen enough ends the process at once.
  process.once('exit', removeLog);
  const talk = { descriptor, command, logFolder, share: options.shareMachine === true };
  try {
    await interruptible((signal) =>
      withEngine(context, { ...talk, signal }, (session, { subject }) =>
        answer(
          context,
          { session, subject, tokenizer, signal },
          requestOf(tokenizer, text, options),
          options,
        ),
      ),
    );
  } catch (error) {
    // What was said so far ends in the middle of a line.
    if (error instanceof Interrupted) context.tell('\n');
    throw error;
  } finally {
    removeLog();
    process.off('exit', removeLog);
  }
}

interface Talk {
  readonly descriptor: EngineDescriptor;
  readonly command: ReturnType<typeof resolveCommand>;
  readonly logFolder: string;
  readonly share: boolean;
  readonly signal: AbortSignal;
}

/** Alone on the machine, with an engine that is ready; it has ended when this returns. */
async function withEngine(
  context: Context,
  { descriptor, command, logFolder, share: shares, signal }: Talk,
  work: (session: EngineSession, ready: EngineReady) => Promise<void>,
): Promise<void> {
  await using guard = await startGuard();
  using _lock = await lockMachine({
    clock: systemClock,
    command: `rota ask ${descriptor.name}`,
    folder: logFolder,
    utc: utcOf(systemClock),
    guard: guard.id,
    share: shares,
    signal,
  });
  const live = createLiveLine(context);
  await using session = await openSession({
    descriptor,
    ...command,
    logFile: join(logFolder, 'engine.log'),
    guard,
    clock: systemClock,
    onLoading: ({ bytes, total }) => live.show(`loading ${share(bytes, total)}`),
  });
  const { ready } = await session.ready(signal).finally(live.clear);
  await work(session, ready);
}

function share(bytes: number | null, total: number | null): string {
  return bytes === null || total === null || total === 0 ? '...' : `${Math.floor((100 * bytes) / total)} %`;
}

function requestOf(tokenizer: Tokenizer, text: string, options: AskOptions): GenerateRequest {
  const bos = tokenizer.bosId === null ? [] : [tokenizer.bosId];
  return {
    prompt: [...bos, ...tokenizer.encode(text)],
    maxNew: options.maxNew,
    temperature: options.temperature,
    topP: options.topP,
    seed: options.seed,
    ignoreEos: options.ignoreEos === true,
    stop: [],
  };
}

interface Conversation {
  readonly session: EngineSession;
  /** What may be concluded, where that is not all. */
  readonly subject: string | undefined;
  readonly tokenizer: Tokenizer;
  readonly signal: AbortSignal;
}

async function answer(
  context: Context,
  { session, subject, tokenizer, signal }: Conversation,
  request: GenerateRequest,
  { json }: AskOptions,
): Promise<void> {
  const stream = createTextStream(tokenizer);
  const print = (piece: string): void => context.print(context.isTerminal.stdout ? harmless(piece) : piece);
  let streamed = 0;
  const show = (ids: readonly number[]): void => {
    streamed += ids.length;
    print(stream.push(ids));
  };
  const onTokens = json ? undefined : show;
  const { result } = await session.generate(request, { timeoutMs: TIMEOUT_MS, signal, onTokens });
  if (result.ids === null) throw new EngineError('the engine gave no token ids', { phase: 'generate' });
  if (json) {
    const text = tokenizer.decode(result.ids);
    const told = { prompt: request.prompt, subject, ...result, raw: undefined, text };
    context.print(`${JSON.stringify(told, null, 2)}\n`);
    return;
  }
  // Some engines answer in one piece, whatever they are asked.
  show(result.ids.slice(streamed));
  print(`${stream.end()}\n`);
  context.tell(`${counterLine(result)}${subject === undefined ? '' : ` | ${subject}`}\n`);
}

/** A model may say anything, escape sequences too; a terminal must not obey them. */
export function harmless(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]/gu, '\ufffd');
}

/** The rate is (n - 1) tokens over the time from the first to the last, as everywhere. */
function counterLine(result: GenerateResult): string {
  const { tokens, decodeMs, ttftMs, finish, counters } = result;
  const rate = decodeMs === null || decodeMs === 0 || tokens < 2 ? null : (tokens - 1) / (decodeMs / 1000);
  const perPass = counters.passes === null || counters.passes === 0 ? null : tokens / counters.passes;
  const sources = Object.entries(counters.bySource).map(([source, count]) => `${count ?? 'n/a'} ${source}`);
  return [
    `${tokens} tokens (${finish ?? 'n/a'})`,
    `${rate?.toFixed(2) ?? 'n/a'} tok/s`,
    `${perPass?.toFixed(2) ?? 'n/a'} tokens/pass`,
    `first after ${ttftMs?.toFixed(0) ?? 'n/a'} ms`,
    `lookups: ${sources.join(', ')}`,
  ].join(' | ');
}
