// A protocol file: which engine, model, arms and workloads, how many blocks in which order, and by which rules.

import { z } from 'zod';
import { MAX_RERUNS } from '../core/design/guard.ts';
import type { ArbitrationRule, Guards, Sampling, WarmupRule } from '../core/records/plan.ts';
import { backgroundContradictions, backgroundShape, type ProtocolBackground } from './background.ts';
import { nameHint } from './nearest.ts';
import {
  type ArmOverride,
  modelShape,
  overrideShape,
  type ProtocolModel,
  samplingShape,
} from './override.ts';
import type { AddProblem, Problem } from './problems.ts';
import { validate } from './validate.ts';
import { parseYaml, pathText, type YamlSource } from './yaml-source.ts';

export interface ProtocolWorkload {
  readonly class: string;
  /** File of prompts; relative to the protocol file. */
  readonly prompts: string;
  /** How many prompts each block uses: new ones in every block, the same for all arms of it. */
  readonly perBlock: number;
  readonly maxNew: number;
  /** Speed runs have a fixed length; only then are rates of two arms rates of the same work. */
  readonly ignoreEos: boolean;
}

/** Knobs as written, and under one key what is no knob. */
export interface ProtocolArm {
  readonly [knob: string]: unknown;
  readonly override?: ArmOverride;
}

export interface Protocol {
  readonly name: string;
  readonly summary: string;
  readonly engine: string;
  readonly model: ProtocolModel;
  readonly baseline: string;
  /** Knobs of every arm, as written; an arm's own come over them. */
  readonly common: Readonly<Record<string, unknown>>;
  readonly arms: Readonly<Record<string, ProtocolArm>>;
  readonly blocks: number;
  readonly order: 'balanced' | 'abba' | 'random';
  readonly seed: number;
  readonly workloads: readonly ProtocolWorkload[];
  readonly sampling: Sampling;
  readonly warmup: WarmupRule;
  readonly arbitration: ArbitrationRule;
  readonly telemetry: { readonly periodMs: number };
  /** Whether every run writes its engine's ledger into the run folder, where the engine has one. */
  readonly ledger: boolean;
  readonly guards: Guards;
  /** Differences below this share are of no interest (0.03 = 3 %). */
  readonly margin: number;
  /** Looks after so many blocks (of those after a screening): stop when all is decided, exact enough, equivalent or hopeless. */
  readonly stop?: { readonly looks: readonly number[]; readonly precision?: number };
  /** The first blocks only screen: arms that cannot be faster by the margin are not run in the others. */
  readonly sweep?: { readonly screen: number };
  /** Runs beside the runs of some blocks, or of all: load that is wanted, neither own nor foreign. */
  readonly background?: ProtocolBackground;
  /** Spread of paired log ratios that the plan reckons with, as a share; without it a stated default is used. */
  readonly assumedSpread?: number;
}

const text = z.string().min(1);
const count = z.int().min(1);
const share = z.number().min(0).max(1);
const seed = z.int().min(0);
const armName = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_+-]*$/, 'an arm is named by a letter, then letters, digits, _, + and -');
/** Checked against the engine's knobs once the descriptor is known. */
const knobs = z.record(z.string(), z.unknown());
const commonKnobs = z.preprocess((value) => value ?? {}, knobs);
const arm = z.preprocess((value) => value ?? {}, z.looseObject({ override: overrideShape.exactOptional() }));

const warmup = z.strictObject({
  floorPromptsPerClass: z.int().min(0).default(2),
  floorTokens: z.int().min(0).default(256),
  windows: z.int().min(3).default(5),
  maxSlopePerWindow: z.number().positive().default(0.005),
  maxHitRatioChange: share.default(0.01),
  capRequests: count.default(20),
  capSeconds: z.number().positive().default(600),
});

const arbitration = z.strictObject({
  perClass: z.int().min(0).default(1),
  maxNew: z.int().min(2).default(64),
  scoreTexts: z.int().min(0).default(4),
});

const workload = z.strictObject({
  class: z.string().regex(/^[a-z][a-z0-9-]*$/, 'a content class is named in lower case with dashes'),
  prompts: text,
  perBlock: count,
  maxNew: z.int().min(2),
  ignoreEos: z.boolean().default(true),
});

const protocolShape = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]*$/, 'a protocol is named in lower case with dashes: it names the run folder'),
  summary: z.string().default(''),
  engine: text,
  model: modelShape,
  baseline: text,
  common: commonKnobs.prefault({}),
  arms: z.record(armName, arm),
  blocks: count.max(1000),
  order: z.enum(['balanced', 'abba', 'random']).default('balanced'),
  seed: seed.default(1),
  workloads: z.array(workload).min(1),
  sampling: samplingShape.prefault({}),
  warmup: warmup.prefault({}),
  arbitration: arbitration.prefault({}),
  telemetry: z.strictObject({ periodMs: z.int().min(50).max(60_000).default(500) }).prefault({}),
  ledger: z.boolean().default(true),
  guards: z
    .strictObject({
      foreignCpuShare: share.default(0.1),
      foreignGpuPercent: z.number().min(0).max(100).default(15),
      onTrip: z.enum(['flag', 'rerun', 'abort']).default('rerun'),
      maxReruns: z.int().min(1).max(MAX_RERUNS).default(MAX_RERUNS),
    })
    .prefault({}),
  margin: z.number().positive().max(0.5).default(0.03),
  stop: z
    .strictObject({
      looks: z.array(z.int().min(2)).min(2),
      precision: z.number().positive().max(0.5).exactOptional(),
    })
    .exactOptional(),
  sweep: z.strictObject({ screen: z.int().min(2) }).exactOptional(),
  background: backgroundShape.exactOptional(),
  assumedSpread: z.number().positive().max(1).exactOptional(),
});

/** What no single field shows. */
export function protocolContradictions(protocol: Protocol, source: YamlSource): Problem[] {
  const found: Problem[] = [];
  const add: AddProblem = (path, message, hint) => {
    found.push({
      where: source.where(path),
      path: pathText(path),
      message,
      ...(hint === undefined ? {} : { hint }),
    });
  };
  const arms = Object.keys(protocol.arms);
  if (arms.length < 2) add(['arms'], `needs at least 2 arms to compare, got ${arms.length}`);
  if (!arms.includes(protocol.baseline)) {
    add(['baseline'], `no arm is named "${protocol.baseline}"`, nameHint(protocol.baseline, arms));
  }
  if (protocol.order === 'abba' && arms.length !== 2) {
    add(['order'], `abba is for 2 arms, there are ${arms.length}`, 'use balanced');
  }
  stopContradictions(protocol, add);
  backgroundContradictions(protocol, add);
  const classes = new Set<string>();
  for (const [index, { class: name }] of protocol.workloads.entries()) {
    if (classes.has(name)) add(['workloads', index, 'class'], `the class "${name}" is given twice`);
    classes.add(name);
  }
  return found;
}

/** Looks and screening are about the same blocks: they must leave each other some. */
function stopContradictions({ arms, blocks, stop, sweep }: Protocol, add: AddProblem): void {
  const screen = sweep?.screen ?? 0;
  if (sweep !== undefined && Object.keys(arms).length < 3)
    add(['sweep'], 'a sweep is for 3 arms or more: two have nothing to screen');
  if (screen > 0 && blocks - screen < 2)
    add(
      ['sweep', 'screen'],
      `of ${blocks} blocks ${screen} only screen: at least 2 more must be left to confirm`,
    );
  if (stop === undefined) return;
  const rises = stop.looks.every((look, index) => index === 0 || look > (stop.looks[index - 1] ?? 0));
  if (!rises) add(['stop', 'looks'], 'looks must rise');
  const last = stop.looks.at(-1);
  if (rises && last !== blocks - screen)
    add(
      ['stop', 'looks'],
      `the last look must be after all ${blocks - screen} blocks${screen > 0 ? ' that confirm' : ''}, not ${last}`,
    );
}

export interface ParsedProtocol {
  readonly protocol: Protocol;
  readonly source: YamlSource;
}

/** Parses the shape of a protocol. Knobs, prompts and cross references are checked by completeProtocol. */
export function parseProtocol(yaml: string, file: string): ParsedProtocol {
  const source = parseYaml(yaml, file);
  return { protocol: validate<Protocol>(protocolShape, source), source };
}
