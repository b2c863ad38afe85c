// Owns the reading of a bundled engine's answers into the records that cross rooms. A field that is absent or not a sane
// number becomes `null` and its name is kept, never a guess. Knows no process.

import { knownSum } from '../core/known.ts';
import type {
  ChannelBytes,
  Counters,
  EngineReady,
  GenerateRequest,
  GenerateResult,
  Lookups,
} from '../core/records/answer.ts';
import type { Message } from './message.ts';

type Fields = Readonly<Record<string, unknown>>;

function object(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** Reads fields and remembers those that were there and could not be believed. */
function createReader(body: Fields): {
  readonly refused: string[];
  at(...path: string[]): unknown;
  number(...path: string[]): number | null;
  count(...path: string[]): number | null;
} {
  const refused: string[] = [];
  const at = (...path: string[]): unknown => path.reduce<unknown>((value, key) => object(value)[key], body);
  const checked = (path: string[], isSane: (value: number) => boolean): number | null => {
    const value = at(...path);
    if (value === undefined || value === null) return null;
    if (typeof value === 'number' && isSane(value)) return value;
    refused.push(path.join('.'));
    return null;
  };
  return {
    refused,
    at,
    number: (...path) => checked(path, (value) => Number.isFinite(value) && value >= 0),
    count: (...path) => checked(path, (value) => Number.isSafeInteger(value) && value >= 0),
  };
}

type Reader = ReturnType<typeof createReader>;

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

export function readReady(message: Message): EngineReady {
  const reader = createReader(message.body);
  const lossy = reader.at('lossy');
  const draft = reader.at('draft_fingerprint');
  const subject = textOrNull(reader.at('subject'));
  return {
    device: textOrNull(reader.at('device')) ?? 'unknown',
    fingerprint: textOrNull(reader.at('fingerprint')),
    ...(draft === undefined ? {} : { draftFingerprint: textOrNull(draft) }),
    ...(subject === null ? {} : { subject }),
    moeLayers: reader.count('model', 'moe_layers'),
    topK: reader.count('model', 'top_k'),
    vocab: reader.count('model', 'vocab'),
    lossyKnobs: Array.isArray(lossy) ? lossy.filter((name) => typeof name === 'string') : [],
    weightBytes: readWeightBytes(reader),
    raw: message.body,
  };
}

/** Routed experts by format, and everything else that decode may touch. Unknown as soon as a part is. */
function readWeightBytes(reader: Reader): number | null {
  const formats = object(reader.at('formats'));
  const experts = Object.keys(formats).map((format) => {
    const count = reader.count('formats', format);
    const bytes = reader.count('blob_bytes', format);
    return count === null || bytes === null ? null : count * bytes;
  });
  if (experts.length === 0) return null;
  return knownSum([...experts, reader.count('sizes', 'dense_bytes'), reader.count('sizes', 'engram_bytes')]);
}

function readLookups(reader: Reader): Lookups {
  const of = (source: keyof Lookups): number | null => reader.count('counters', source);
  return { hit: of('hit'), pcie: of('pcie'), cpu: of('cpu'), file: of('file'), skipped: of('skipped') };
}

function readBytes(reader: Reader): ChannelBytes {
  const of = (channel: keyof ChannelBytes): number | null => reader.count('counters', 'bytes', channel);
  return {
    hit: of('hit'),
    pcie: of('pcie'),
    cpu: of('cpu'),
    file: of('file'),
    dense: of('dense'),
    engram: of('engram'),
  };
}

function readCounters(reader: Reader): Counters {
  return {
    passes: reader.count('counters', 'passes'),
    rows: reader.count('counters', 'rows'),
    lookups: reader.count('counters', 'lookups'),
    bySource: readLookups(reader),
    bytes: readBytes(reader),
    offered: reader.count('counters', 'offered'),
    accepted: reader.count('counters', 'accepted'),
    late: reader.count('counters', 'late'),
  };
}

/** All of them or none: a list with a hole is not the output. */
function readIds(reader: Reader): number[] | null {
  const ids = reader.at('ids');
  if (ids === undefined || ids === null) return null;
  if (Array.isArray(ids) && ids.every((id) => Number.isSafeInteger(id) && id >= 0)) return ids;
  reader.refused.push('ids');
  return null;
}

/** To whole microseconds: where a pass begins and ends is not known more closely. */
function readPassMs(reader: Reader): number[] | null {
  const times = reader.at('pass_ms');
  if (times === undefined || times === null) return null;
  if (Array.isArray(times) && times.every((ms) => typeof ms === 'number' && Number.isFinite(ms) && ms >= 0))
    return times.map((ms) => Math.round(1000 * ms) / 1000);
  reader.refused.push('pass_ms');
  return null;
}

export interface Answer {
  readonly result: GenerateResult;
  /** Fields that were sent and not believed: NaN, infinite, negative, or of another type. */
  readonly refusedFields: readonly string[];
}

export function readDone(message: Message): Answer {
  const reader = createReader(message.body);
  const ids = readIds(reader);
  const passMs = readPassMs(reader);
  // What was believed stands beside it already, and is most of an answer.
  const { ids: _, pass_ms: untold, ...rest } = message.body;
  const raw = passMs === null && untold !== undefined ? { ...rest, pass_ms: untold } : rest;
  const result: GenerateResult = {
    ids,
    text: textOrNull(reader.at('text')),
    finish: textOrNull(reader.at('finish')),
    tokens: ids?.length ?? reader.count('timings', 'predicted_n') ?? 0,
    decodeMs: reader.number('timings', 'predicted_ms'),
    promptTokens: reader.count('timings', 'prompt_n'),
    cachedPromptTokens: reader.count('timings', 'cache_n'),
    prefillMs: reader.number('timings', 'prompt_ms'),
    ttftMs: reader.number('ttft_ms'),
    passMs,
    counters: readCounters(reader),
    raw,
  };
  const refusedFields = message.nonFinite
    ? [...reader.refused, 'a number that is not finite']
    : reader.refused;
  return { result, refusedFields };
}

export interface ScoreRequest {
  readonly tokens: readonly number[];
  /** Tokens before it are read as a prompt, the others as decode reads and routes them. Absent: all are the prompt's. */
  readonly decodeFrom?: number;
  /** A file to be written with the whole logits of rows `from` on. */
  readonly logitsOut?: { readonly file: string; readonly from: number };
}

/** One of each for every token but the first. */
export interface ScoredTokens {
  readonly logprobs: readonly number[];
  readonly top1: readonly number[];
  /** Of the logits behind the last token. */
  readonly logitsSha256: string | null;
  /** Of those behind the last token that was read as a prompt. */
  readonly prefillSha256: string | null;
}

export function scoreBody({ tokens, decodeFrom, logitsOut }: ScoreRequest): Fields {
  return {
    op: 'score',
    tokens,
    ...(decodeFrom === undefined ? {} : { decode_from: decodeFrom }),
    ...(logitsOut === undefined ? {} : { logits_out: logitsOut.file, logits_from: logitsOut.from }),
  };
}

/** Null when a part is missing or cannot be believed: half a score is none. */
export function readScore({ body }: Message): ScoredTokens | null {
  const reader = createReader(body);
  const logprobs = reader.at('logprobs');
  const top1 = reader.at('top1');
  if (!Array.isArray(logprobs) || !Array.isArray(top1) || logprobs.length !== top1.length) return null;
  // Rounding may leave a logarithm of a probability a hair above 0.
  const isLog = (value: unknown): boolean =>
    typeof value === 'number' && Number.isFinite(value) && value <= 1e-6;
  if (!logprobs.every(isLog) || !top1.every(Number.isSafeInteger)) return null;
  const digestOf = (name: string): string | null => textOrNull(reader.at('digest', name));
  return { logprobs, top1, logitsSha256: digestOf('logits'), prefillSha256: digestOf('prompt') };
}

export function generateBody(request: GenerateRequest, stream: boolean): Fields {
  return {
    op: 'generate',
    prompt: request.prompt,
    max_new: request.maxNew,
    temperature: request.temperature,
    top_p: request.topP,
    seed: request.seed,
    ignore_eos: request.ignoreEos,
    stop: request.stop,
    stream,
  };
}
