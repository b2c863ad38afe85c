// Windows of a made-up journal: what a test says of an answer, and sane numbers for the rest.

import { createHash } from 'node:crypto';
import type { GenerateResult } from '../../../src/core/records/answer.ts';
import type { JournalEvent, WindowKind, WindowLoad } from '../../../src/core/records/journal.ts';

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

export const utc = '2026-01-01T00:00:00.000Z';

const KNOWN_COUNTERS: GenerateResult['counters'] = {
  passes: 40,
  rows: 100,
  lookups: 800,
  bySource: { hit: 300, pcie: 0, cpu: 400, file: 100, skipped: 0 },
  bytes: { hit: 3e6, pcie: 0, cpu: 4e6, file: 1e6, dense: 2e6, engram: 0 },
  offered: 60,
  accepted: 23,
  late: 2,
};

/** What one request gave; what a test does not say is a sane answer of 64 tokens at 100 tok/s. */
export interface Answer {
  readonly rate?: number;
  readonly tokens?: number;
  readonly ids?: readonly number[] | null;
  readonly finish?: string;
  readonly counters?: Partial<GenerateResult['counters']>;
  readonly decodeMs?: number | null;
  readonly foreignCpuShare?: number | null;
  /** More of what the machine did. */
  readonly load?: Partial<WindowLoad>;
  readonly wallMs?: number;
  readonly flags?: readonly string[];
  /** Digest of the logits behind the last token. */
  readonly logits?: string;
}

function resultOf(answer: Answer): GenerateResult {
  const tokens = answer.tokens ?? 64;
  const ids = answer.ids === undefined ? Array.from({ length: tokens }, (_, i) => i) : answer.ids;
  return {
    ids,
    text: null,
    finish: answer.finish ?? 'length',
    tokens,
    decodeMs:
      answer.decodeMs === undefined
        ? (1000 * Math.max(0, tokens - 1)) / (answer.rate ?? 100)
        : answer.decodeMs,
    promptTokens: 20,
    cachedPromptTokens: 0,
    prefillMs: 50,
    ttftMs: 55,
    passMs: null,
    counters: { ...KNOWN_COUNTERS, ...answer.counters },
    raw: answer.logits === undefined ? null : { digest: { logits: answer.logits } },
  };
}

export function windowEvent(
  run: string,
  kind: WindowKind,
  className: string,
  prompt: string,
  answer: Answer,
): Extract<JournalEvent, { type: 'window' }> {
  const result = resultOf(answer);
  return {
    type: 'window',
    utc,
    run,
    kind,
    class: className,
    prompt,
    startedMs: 0,
    wallMs: answer.wallMs ?? 1,
    result,
    idsSha256: result.ids === null ? null : sha256(result.ids.join()),
    load: {
      ownCpuShare: 0.9,
      foreignCpuShare: answer.foreignCpuShare === undefined ? 0.01 : answer.foreignCpuShare,
      threadCpuShare: null,
      rotaCpuShare: 0,
      loadAverage1: null,
      memAvailableBytes: null,
      diskReadBytes: null,
      gpus: null,
      ...answer.load,
    },
    flags: answer.flags ?? [],
  };
}
