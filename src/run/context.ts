// Owns what every step of a session shares: the plan, the record, the clock, the watchers. Data only.

import type { Plan, PlannedPrompt } from '../core/records/plan.ts';
import type { Guard } from '../engines/guard.ts';
import type { EngineSession } from '../engines/session.ts';
import type { Calibrate } from '../machine/calibration.ts';
import type { Clock } from '../machine/clock.ts';
import type { GpuMonitor } from '../machine/gpu-monitor.ts';
import type { Telemetry } from '../machine/telemetry.ts';
import type { Journal } from '../results/journal.ts';
import type { RunFolder } from '../results/run-folder.ts';
import type { EngineDescriptor } from '../schema/descriptor.ts';
import type { Background } from './background.ts';
import type { KnownWeights } from './known-weights.ts';
import type { ProgressMeter } from './progress.ts';

/** Ids of a prompt for a model. The same for every arm that serves the model. */
export type PromptIds = (model: string, prompt: PlannedPrompt) => readonly number[];

export interface SessionContext {
  readonly plan: Plan;
  readonly folder: RunFolder;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly startedMs: number;
  readonly guard: Guard;
  readonly telemetry: Telemetry;
  readonly gpus: GpuMonitor | null;
  /** The same short work each time, for when no engine runs. */
  readonly calibrate: Calibrate;
  readonly background: Background;
  readonly promptIds: PromptIds;
  readonly descriptorOf: (engine: string) => EngineDescriptor;
  readonly progress: ProgressMeter;
  /** Fires on Ctrl-C; its reason is an Interrupted. */
  readonly signal: AbortSignal;
  readonly requestTimeoutMs: (promptTokens: number, maxNew: number) => number;
  readonly weights: KnownWeights;
  /** The engine that runs now, for whoever must end it at once. */
  readonly running: { session: EngineSession | null };
}

/** A first token within two minutes and a tenth of a second for each token of prompt; then half a token a second. */
export function defaultRequestTimeoutMs(promptTokens: number, maxNew: number): number {
  return 120_000 + 100 * promptTokens + 2_000 * maxNew;
}
