// What is scored, and how its windows are asked for: data that the steps of a scoring share.

import type { EngineDescriptor } from '../../schema/descriptor.ts';
import type { Knobs } from '../../schema/knobs.ts';

export interface ScoreSubject {
  /** As it was typed: `exact`, `route-bias=1`, or a model. */
  readonly name: string;
  readonly descriptor: EngineDescriptor;
  readonly model: string;
  readonly binary: string | undefined;
  readonly knobs: Knobs;
  readonly lossy: readonly string[];
}

export interface ScoreClass {
  readonly class: string;
  readonly windows: readonly (readonly number[])[];
}

export interface ScoreShape {
  readonly window: number;
  readonly context: number;
  readonly rows: 'decode' | 'prompt';
}

/** What the reference thought of one window. */
export interface ReferenceWindow {
  readonly top1: readonly number[];
  /** The file of its logits; null when its engine gives none. */
  readonly logits: string | null;
}
