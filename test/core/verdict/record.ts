// A made-up plan and journal for tests of the verdict: every number is a parameter of the test that uses it.

import type { CalibrationReading, JournalEvent, WindowKind } from '../../../src/core/records/journal.ts';
import type { PassMs } from '../../../src/core/records/ledger.ts';
import type { Plan, PlannedArm } from '../../../src/core/records/plan.ts';
import type { ArmClassVerdict, Verdict } from '../../../src/core/records/verdict.ts';
import { computeVerdict } from '../../../src/core/verdict/verdict.ts';
import { ledgerOf, numbered } from './record-ledger.ts';
import { type Scored, scoreEvents } from './record-scores.ts';
import { type Answer, sha256, utc, windowEvent } from './record-windows.ts';

export { type Answer, sha256, utc };

export interface RecordOptions {
  readonly arms?: readonly string[];
  readonly classes?: readonly string[];
  readonly blocks?: number;
  readonly perBlock?: number;
  readonly plan?: Partial<Plan>;
  readonly arm?: (name: string) => Partial<PlannedArm>;
  readonly answer?: (at: {
    arm: string;
    block: number;
    class: string;
    prompt: string;
    kind: WindowKind;
  }) => Answer;
  /** Adds an arbitration window of this prompt to each class, and this many scored texts. */
  readonly arbitrate?: string;
  readonly score?: (at: { arm: string; block: number; class: string; text: number }) => Scored | null;
  readonly texts?: number;
  /** What the ledger has of a measured window; without it runs have none. */
  readonly ledger?: (at: { arm: string; block: number; class: string }) => Partial<PassMs>;
  readonly logShape?: (arm: string) => string;
  readonly readyRaw?: (arm: string) => unknown;
  readonly device?: string;
  readonly fingerprint?: (arm: string) => string | null;
  /** Absent: the engine does not tell. */
  readonly draftFingerprint?: (arm: string) => string | null;
  /** What the engine says may be concluded; undefined: everything. */
  readonly subject?: (arm: string) => string | undefined;
  readonly weightBytes?: number;
  readonly machine?: unknown;
  readonly steady?: (run: string) => boolean;
  /** The calibration loop around each run; absent: there is none. */
  readonly calibrate?: (at: {
    arm: string;
    block: number;
    position: number;
    when: 'before' | 'after';
  }) => Partial<CalibrationReading>;
  readonly ceilings?: readonly [number | null, number | null];
  /** Of a device's memory, and of the way to it. */
  readonly deviceCeilings?: readonly [number, number];
}

export function makePlan(options: RecordOptions = {}): Plan {
  const { arms = ['base', 'fast'], classes = ['prose'], blocks = 4, perBlock = 2 } = options;
  const promptsByBlock = (name: string) =>
    Array.from({ length: blocks }, (_, block) =>
      Array.from({ length: perBlock }, (_, i) => ({
        id: `${name}-${block + 1}-${i + 1}`,
        text: `${name} ${block} ${i}`,
      })),
    );
  return {
    schemaVersion: 1,
    rota: '0.1.0',
    protocol: 'made-up',
    protocolSha256: '0'.repeat(64),
    createdUtc: utc,
    seed: 1,
    orderKind: 'balanced',
    blocks,
    baseline: 'base',
    arms: arms.map((name) => ({
      name,
      engine: 'strata',
      model: 'm.gguf',
      knobs: {},
      argv: ['rota-strata', '--model', 'm.gguf', '--arm', name],
      env: {},
      lossyKnobs: [],
      overrides: [],
      ...options.arm?.(name),
    })),
    runs: Array.from({ length: blocks }, (_, b) =>
      arms.map((arm, p) => ({ id: `b${b + 1}.p${p + 1}.${arm}`, block: b + 1, position: p + 1, arm })),
    ).flat(),
    workloads: classes.map((name) => ({
      class: name,
      maxNew: 64,
      ignoreEos: true,
      promptsByBlock: promptsByBlock(name),
      warmupPrompts: [{ id: 'w01', text: 'warm' }],
    })),
    sampling: { temperature: 0, topP: 1, seed: 1 },
    warmup: {
      floorPromptsPerClass: 2,
      floorTokens: 256,
      windows: 5,
      maxSlopePerWindow: 0.005,
      maxHitRatioChange: 0.01,
      capRequests: 20,
      capSeconds: 600,
    },
    telemetryPeriodMs: 500,
    guards: { foreignCpuShare: 0.1, foreignGpuPercent: 15 },
    margin: 0.03,
    expectedMinutes: 4,
    minDetectableEffect: 0.06,
    assumedSpread: { value: 0.017, source: 'assumed: a quiet machine; not measured here' },
    ...options.plan,
  };
}

/** The events of one run, in order, from its start to its end. */
export function runEvents(
  plan: Plan,
  run: Plan['runs'][number],
  options: RecordOptions = {},
  attempt = 1,
): JournalEvent[] {
  const { id, block, position, arm } = run;
  const answer = options.answer ?? (() => ({}));
  const answered = plan.workloads.flatMap((workload) => {
    const of = (kind: WindowKind, prompt: string) =>
      windowEvent(
        id,
        kind,
        workload.class,
        prompt,
        answer({ arm, block, class: workload.class, prompt, kind }),
      );
    return [
      of('prime', 'w01'),
      ...(workload.promptsByBlock[block - 1] ?? []).map((prompt) => of('measure', prompt.id)),
      ...(options.arbitrate === undefined ? [] : [of('arbitrate', options.arbitrate)]),
    ];
  });
  const windows = options.ledger === undefined ? answered : numbered(answered);
  const scores = scoreEvents(plan, run, options);
  const subject = options.subject?.(arm);
  const ready = {
    device: options.device ?? 'host',
    fingerprint: options.fingerprint === undefined ? 'f' : options.fingerprint(arm),
    ...(options.draftFingerprint === undefined ? {} : { draftFingerprint: options.draftFingerprint(arm) }),
    ...(subject === undefined ? {} : { subject }),
    moeLayers: 4,
    topK: 2,
    vocab: 512,
    lossyKnobs: [],
    ...(options.weightBytes === undefined ? {} : { weightBytes: options.weightBytes }),
    raw: options.readyRaw?.(arm) ?? null,
  };
  const steady = options.steady?.(id) ?? true;
  const calibration = (when: 'before' | 'after'): JournalEvent[] =>
    options.calibrate === undefined
      ? []
      : [
          {
            type: 'calibration',
            utc,
            run: id,
            when,
            arithmeticMs: 10,
            memoryMs: 5,
            clockMhz: null,
            thermalThrottles: null,
            quotaThrottles: null,
            ...options.calibrate({ arm, block, position, when }),
          },
        ];
  return [
    ...calibration('before'),
    { type: 'run_start', utc, run: id, attempt, block, position, arm, argv: [], env: {}, pid: 1 },
    { type: 'ready', utc, run: id, loadMs: 1500, ready },
    {
      type: 'warmup_end',
      utc,
      run: id,
      requests: 6,
      tokens: 300,
      seconds: 3,
      steady,
      reason: steady ? 'steady' : 'the cap',
    },
    ...windows,
    ...scores,
    ...calibration('after'),
    {
      type: 'run_end',
      utc,
      run: id,
      status: 'ok',
      reason: null,
      exit: 0,
      memoryReleased: true,
      releaseMs: 5,
      logTail: [],
      ...(options.logShape === undefined ? {} : { logShapeSha256: options.logShape(arm) }),
      ...(options.ledger === undefined ? {} : { ledger: ledgerOf(windows, { arm, block }, options.ledger) }),
    },
  ];
}

export function sessionEvents(options: RecordOptions = {}, resumed = false): JournalEvent[] {
  const [memory, file] = options.ceilings ?? [2e9, 1e9];
  const [copy, toDevice] = options.deviceCeilings ?? [];
  return [
    { type: 'session', utc, resumed, machine: options.machine ?? null, rota: '0.1.0', pid: 1 },
    {
      type: 'ceiling',
      utc,
      when: 'before',
      memoryReadBytesPerSec: memory,
      fileReadBytesPerSec: file,
      ...(copy === undefined ? {} : { deviceCopyBytesPerSec: copy }),
      ...(toDevice === undefined ? {} : { toDeviceBytesPerSec: toDevice }),
      raw: null,
    },
  ];
}

/** A whole session in which every planned run ended well. */
export function makeRecord(options: RecordOptions = {}): { plan: Plan; events: JournalEvent[] } {
  const plan = makePlan(options);
  return {
    plan,
    events: [
      ...sessionEvents(options),
      ...plan.runs.flatMap((run) => runEvents(plan, run, options)),
      { type: 'session_end', utc },
    ],
  };
}

export function verdictOf(record: { plan: Plan; events: JournalEvent[] }): Verdict {
  return computeVerdict({ ...record, runFolder: 'folder', journalSha256: 'hash', sha256 });
}

export function row(verdict: Verdict, arm: string, className = 'prose'): ArmClassVerdict {
  const found = verdict.arms.find((each) => each.arm === arm && each.class === className);
  if (found === undefined) throw new Error(`no row for ${arm} ${className}`);
  return found;
}

/** `fast` is twice the baseline, with a spread of about 1 % between blocks. */
export const twice: RecordOptions = {
  answer: ({ arm, block }) => ({ rate: arm === 'fast' ? 200 * (1 + 0.01 * (block % 2)) : 100 }),
};
