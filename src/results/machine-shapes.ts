// The shapes of what a verdict says of the machine: the load of others and the one that was asked for, its own clock. Knows no file.

import { z } from 'zod';
import type { BackgroundFinding, Calibration, ForeignLoad } from '../core/records/verdict.ts';

const text = z.string();
const number = z.number();
const known = number.nullable();
const count = z.int().min(0);
const interval = z.tuple([number, number, number]).readonly();

export const foreignLoad = z.object({
  spoilt: z.array(z.object({ block: count, try: count, run: text, reason: text })).readonly(),
  disturbed: z
    .array(
      z.object({
        block: count,
        tries: count,
        foreignCores: known,
        foreignCpuShare: known,
        stolenCores: known,
        programs: z.array(z.object({ name: text, cores: number })).readonly(),
      }),
    )
    .readonly(),
}) satisfies z.ZodType<ForeignLoad>;

const calibrationPart = z.object({ fastestMs: number, medianMs: number, drift: known, driftP: known });

export const calibration = z.object({
  runs: count,
  arithmetic: calibrationPart,
  memory: calibrationPart,
  leans: z
    .array(
      z.object({
        arm: text,
        of: z.enum([
          'arithmetic',
          'memory',
          'thermal throttling',
          'quota throttling',
          'power cap',
          'hardware slowdown',
          'sync boost',
          'software thermal slowdown',
          'hardware thermal slowdown',
          'power brake',
        ]),
        own: number,
        others: number,
        p: number,
        text,
      }),
    )
    .readonly(),
}) satisfies z.ZodType<Calibration>;

export const backgroundFinding = z.object({
  name: text,
  blocks: z.array(count).readonly(),
  cores: known,
  readBytesPerSec: known,
  coresByArm: z.array(z.object({ arm: text, cores: known })).readonly(),
  effects: z
    .array(
      z.object({ arm: text, class: text, beside: z.boolean(), blocks: count, ratio: interval.nullable() }),
    )
    .readonly(),
  interactions: z
    .array(z.object({ arm: text, class: text, ratio: interval.nullable(), p: known }))
    .readonly(),
  lines: z.array(z.object({ arm: text, class: text, line: text })).readonly(),
}) satisfies z.ZodType<BackgroundFinding>;
