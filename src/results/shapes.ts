// The shapes of plan.json and verdict.json as they are read back: a file that was altered must not look like a bug of Rota. Says what
// is wrong in a line; knows no file.

import { z } from 'zod';
import type { Lookups } from '../core/records/answer.ts';
import type { Decision } from '../core/records/journal.ts';
import type { Guards, Plan, PlannedArm, PlannedBackground, WarmupRule } from '../core/records/plan.ts';
import type { ArmClassVerdict, Headline, OutputEvidence, Verdict } from '../core/records/verdict.ts';
import { backgroundFinding, calibration, foreignLoad } from './machine-shapes.ts';

const text = z.string();
const number = z.number();
const known = number.nullable();
const knownText = text.nullable();
const texts = z.array(text).readonly();
const count = z.int().min(0);

const lookups = {
  hit: known,
  pcie: known,
  cpu: known,
  file: known,
  skipped: known,
} satisfies Record<keyof Lookups, z.ZodType>;

const interval = z.tuple([number, number, number]).readonly();
const speedWord = z.enum([
  'faster',
  'slower',
  'steadier',
  'equivalent',
  'non-inferior',
  'inconclusive',
  'baseline',
]);

const evidence = z.object({
  compared: count,
  differing: count,
  deltaTokens: known,
  baseTokens: known,
  firstDivergence: z.object({ run: text, prompt: text, token: count, gapNats: known }).nullable(),
  score: z
    .object({
      texts: count,
      tokens: count,
      perplexityRatio: number,
      interval: z.tuple([number, number]).readonly().nullable(),
      sameTop1: number,
    })
    .nullable(),
}) satisfies z.ZodType<OutputEvidence>;

const row = z.object({
  arm: text,
  class: text,
  output: z.enum(['L0', 'L1', 'L2', 'L3', 'LX']),
  outputReason: text,
  speed: speedWord,
  ratio: interval.nullable(),
  test: z
    .object({
      method: z.enum(['block model', 'own pairs']),
      p: number,
      level: number,
      df: number,
      sd: number,
      unequal: z.boolean(),
    })
    .nullable(),
  robust: z.object({ ratio: interval, outlierDriven: z.boolean() }).nullable(),
  spread: interval.nullable(),
  spreadRatio: interval.nullable(),
  tokPerSec: known,
  tokensPerPass: known,
  msPerPass: known,
  prefillTokPerSec: known,
  ttftMs: known,
  loadS: known,
  causes: z
    .object({ draft: known, dense: known, pool: known, fileWait: known, other: number })
    .exactOptional(),
  hostBytesPerToken: known,
  deviceBytesPerToken: known,
  fileBytesPerToken: known.exactOptional(),
  ceilingTokPerSec: known,
  binds: z.enum(['host memory', 'file', 'device memory', 'to device']).exactOptional(),
  ceilingShare: known,
  lookups: z.object({ ...lookups, total: known }),
  rows: known,
  passes: known,
  acceptance: known,
  joulesPerToken: number.exactOptional(),
  blocks: count,
  idsSha256: knownText,
  command: text,
  evidence: evidence.exactOptional(),
  split: z.object({ tokPerSec: number, tokensPerPass: number, msPerPass: number }).exactOptional(),
  deadKnobs: texts.exactOptional(),
  lossy: texts.exactOptional(),
  overrides: texts.exactOptional(),
  perBlock: z
    .array(
      z.object({
        block: count,
        run: text,
        tokPerSec: known,
        idsSha256: knownText,
        passes: known,
        lookups: z.object(lookups),
      }),
    )
    .readonly(),
  line: text,
}) satisfies z.ZodType<ArmClassVerdict>;

const decision = z.object({
  afterBlock: count,
  stop: z.boolean(),
  because: z.enum(['open', 'difference', 'precision', 'equivalence', 'futility', 'screening']),
  leftOut: texts,
  reason: text,
}) satisfies z.ZodType<Decision>;

const headline = z.object({
  arm: text,
  speed: speedWord,
  ratio: interval.nullable(),
  dependsOnContent: z.boolean(),
  interactionP: known,
  range: z.array(z.object({ class: text, ratio: number })).readonly(),
  line: text,
}) satisfies z.ZodType<Headline>;

const verdict = z.object({
  schemaVersion: z.literal(1),
  protocol: text,
  runFolder: text,
  device: knownText,
  subject: text.exactOptional(),
  baseline: text,
  complete: z.boolean(),
  exitCode: count.max(255),
  runs: z.array(z.object({ id: text, status: z.enum(['ok', 'void', 'missing']) })).readonly(),
  decisions: z.array(decision).readonly(),
  executed: texts,
  arms: z.array(row).readonly(),
  headlines: z.array(headline).readonly(),
  components: z.array(z.object({ class: text, request: known, run: known, block: known })).readonly(),
  ceilings: z.object({
    memoryReadBytesPerSec: known,
    fileReadBytesPerSec: known,
    deviceCopyBytesPerSec: number.exactOptional(),
    toDeviceBytesPerSec: number.exactOptional(),
  }),
  foreignLoad: foreignLoad.exactOptional(),
  calibration: calibration.exactOptional(),
  background: backgroundFinding.exactOptional(),
  warnings: texts,
  bounds: z
    .array(z.object({ arm: text, line: text }))
    .readonly()
    .exactOptional(),
  journalSha256: text,
}) satisfies z.ZodType<Verdict>;

const sampling = z.object({ temperature: number, topP: number, seed: number });

const arm = z.object({
  name: text,
  engine: text,
  model: text,
  knobs: z.record(text, z.union([text, number, z.boolean()])),
  argv: texts,
  env: z.record(text, text),
  lossyKnobs: texts,
  lossyInUse: texts.exactOptional(),
  counting: z
    .object({ file: z.enum(['disjoint', 'subset']), unit: z.enum(['lookup', 'blob']) })
    .exactOptional(),
  overrides: texts,
  sampling: sampling.exactOptional(),
  ledgerFlag: text.exactOptional(),
  build: z.object({ ref: text, commit: text }).exactOptional(),
}) satisfies z.ZodType<PlannedArm>;

const prompts = z.array(z.object({ id: text, text })).readonly();

const warmup = z.object({
  floorPromptsPerClass: number,
  floorTokens: number,
  windows: number,
  maxSlopePerWindow: number,
  maxHitRatioChange: number,
  capRequests: number,
  capSeconds: number,
}) satisfies z.ZodType<WarmupRule>;

const guards = z.object({
  foreignCpuShare: number,
  foreignGpuPercent: number,
  onTrip: z.enum(['flag', 'rerun', 'abort']).exactOptional(),
  maxReruns: count.exactOptional(),
}) satisfies z.ZodType<Guards>;

const background = z.object({
  name: text,
  argv: texts,
  env: z.record(text, text),
  blocks: z.array(count).readonly(),
  settleMs: number,
  serves: z.object({ engine: text, model: text, maxNew: count }).exactOptional(),
}) satisfies z.ZodType<PlannedBackground>;

const plan = z.object({
  schemaVersion: z.literal(1),
  rota: text,
  protocol: text,
  protocolSha256: text,
  createdUtc: text,
  seed: number,
  orderKind: z.enum(['williams', 'abba', 'balanced', 'random']),
  blocks: count,
  baseline: text,
  arms: z.array(arm).min(1).readonly(),
  runs: z.array(z.object({ id: text, block: count, position: count, arm: text })).readonly(),
  workloads: z
    .array(
      z.object({
        class: text,
        maxNew: count,
        ignoreEos: z.boolean(),
        promptsByBlock: z.array(prompts).readonly(),
        warmupPrompts: prompts,
      }),
    )
    .min(1)
    .readonly(),
  sampling,
  warmup,
  arbitration: z.object({ perClass: count, maxNew: count, scoreTexts: count }).exactOptional(),
  telemetryPeriodMs: number,
  guards,
  margin: number,
  stop: z.object({ looks: z.array(count).min(1).readonly(), precision: known }).exactOptional(),
  sweep: z.object({ screen: count }).exactOptional(),
  background: background.exactOptional(),
  expectedMinutes: known,
  minDetectableEffect: known,
  assumedSpread: z.object({ value: number, source: text }),
}) satisfies z.ZodType<Plan>;

/** What is not as Rota writes it, the first such place; null when all is. What it does not know yet it leaves alone. */
function firstFault(shape: z.ZodType, value: unknown): string | null {
  const [issue] = shape.safeParse(value).error?.issues ?? [];
  if (issue === undefined) return null;
  const place = issue.path.map(String).join('.');
  return place === '' ? issue.message : `${place}: ${issue.message}`;
}

export const planFault = (value: unknown): string | null => firstFault(plan, value);
export const verdictFault = (value: unknown): string | null => firstFault(verdict, value);
