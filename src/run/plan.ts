// Owns the way from a checked protocol to a plan: everything that will happen, decided and drawn before anything runs. Pure but for
// nothing: the time, the model's path and what is known of earlier runs are parameters.

import { type Order, planOrder } from '../core/design/order.ts';
import type { TwinCandidate } from '../core/design/twins.ts';
import type {
  Plan,
  PlannedArm,
  PlannedBackground,
  PlannedPrompt,
  PlannedRun,
  PlannedWorkload,
} from '../core/records/plan.ts';
import { createRng, type Rng } from '../core/rng.ts';
import { ASSUMED_SPREAD, minDetectableEffect } from '../core/stats/power.ts';
import { plannedLevel } from '../core/verdict/sight.ts';
import { type PlaceholderValues, refuseEqualArms, resolveCommand } from '../engines/resolve.ts';
import { canonicalKnobs, differingKnobs, type Knobs, turnedKnobs } from '../schema/knobs.ts';
import type { CompleteProtocol } from '../schema/load.ts';
import type { Subject, Subjects } from './subjects.ts';

export interface PlanInput {
  readonly complete: CompleteProtocol;
  readonly protocolSha256: string;
  /** What a background that is an engine runs. Absent: there is none. */
  readonly backgroundSubject?: Subject | undefined;
  /** What each arm runs: made or found by the caller. */
  readonly subjects: Subjects;
  readonly rota: string;
  readonly createdUtc: string;
  /** Minutes of one run of this protocol, when they are known or can be guessed. */
  readonly minutesPerRun: number | null;
  /** What identical arms showed on this machine; null: not known. */
  readonly measuredSpread: Plan['assumedSpread'] | null;
  /** Arms may be identical: the noise is what is measured. */
  readonly equalArms: boolean;
}

function planArms(input: PlanInput): PlannedArm[] {
  const { arms, source } = input.complete;
  const planned = Object.entries(arms).map(([name, knobs]) => planArm(input, name, knobs));
  const candidates = planned.map((arm): TwinCandidate => {
    const { descriptor, binary } = subjectOf(input, arm.name);
    const settings = [arm.engine, binary, arm.model, canonicalKnobs(descriptor.knobs, arm.knobs)];
    return { ...arm, settings };
  });
  if (!input.equalArms) refuseEqualArms(candidates, (arm) => source.where(['arms', arm], 'key'));
  return planned;
}

function subjectOf({ subjects }: PlanInput, arm: string): Subject {
  const subject = subjects[arm];
  if (subject === undefined) throw new Error(`nobody said what arm ${arm} runs`);
  return subject;
}

function planArm(input: PlanInput, name: string, knobs: Knobs): PlannedArm {
  const { protocol, arms } = input.complete;
  const { descriptor, model, binary, build, sampling, overrides } = subjectOf(input, name);
  const values: PlaceholderValues = { model, ...(binary === null ? {} : { binary }) };
  const turned = turnedKnobs(descriptor.knobs, knobs, 'lossy');
  // Two engines have no knobs in common: what the arm turns is all that can be said.
  const isSameEngine = descriptor.name === subjectOf(input, protocol.baseline).descriptor.name;
  const baseline = arms[protocol.baseline] ?? {};
  return {
    name,
    engine: descriptor.name,
    model,
    knobs,
    ...resolveCommand(descriptor, knobs, values),
    lossyKnobs: isSameEngine ? differingKnobs(descriptor.knobs, knobs, baseline, 'lossy') : turned,
    ...(turned.length === 0 ? {} : { lossyInUse: turned }),
    counting: descriptor.counting,
    overrides,
    ...(sampling === undefined ? {} : { sampling }),
    ...(build === undefined ? {} : { build }),
    ...ledgerOf(input, descriptor, knobs),
  };
}

/** On or off for all arms: it costs all the same. An arm that says itself where its ledger goes keeps it there. */
function ledgerOf(
  { complete }: PlanInput,
  { ledger, knobs: specs }: Subject['descriptor'],
  knobs: Knobs,
): Pick<PlannedArm, 'ledgerFlag'> {
  if (!complete.protocol.ledger || ledger === undefined || knobs[ledger.knob] !== undefined) return {};
  const flag = specs[ledger.knob]?.flag;
  return flag === undefined ? {} : { ledgerFlag: flag };
}

/** New prompts in every block, or three blocks would measure the same prompts three times. */
function drawPrompts(
  prompts: readonly PlannedPrompt[],
  perBlock: number,
  blocks: number,
  rng: Rng,
): PlannedPrompt[][] {
  const drawn = rng.shuffle(prompts);
  return Array.from({ length: blocks }, (_, block) => drawn.slice(block * perBlock, (block + 1) * perBlock));
}

function planWorkloads({ complete }: PlanInput, rng: Rng): PlannedWorkload[] {
  const { protocol, prompts } = complete;
  return protocol.workloads.map((workload): PlannedWorkload => {
    const file = prompts[workload.class];
    if (file === undefined) throw new Error(`a checked protocol has no prompts for ${workload.class}`);
    const own = rng.split(`prompts of ${workload.class}`);
    return {
      class: workload.class,
      maxNew: workload.maxNew,
      ignoreEos: workload.ignoreEos,
      promptsByBlock: drawPrompts(file.prompts, workload.perBlock, protocol.blocks, own),
      warmupPrompts: file.warmup,
    };
  });
}

function planRuns(rows: readonly (readonly string[])[]): PlannedRun[] {
  return rows.flatMap((row, index) =>
    row.map((arm, place): PlannedRun => {
      const block = index + 1;
      const position = place + 1;
      return { id: `b${block}.p${position}.${arm}`, block, position, arm };
    }),
  );
}

/** Blocks that screen are balanced by themselves, so that those of the claim are whole squares if they can be. */
function orderOf(
  { order: asked, blocks, sweep }: CompleteProtocol['protocol'],
  arms: readonly string[],
  rng: Rng,
): Order {
  const screen = sweep?.screen ?? 0;
  const first = planOrder(asked, arms, screen, rng.split('screen'));
  const rest = planOrder(asked, arms, blocks - screen, screen === 0 ? rng : rng.split('confirm'));
  return { kind: rest.kind, rows: [...first.rows, ...rest.rows] };
}

function planBackground({ complete, backgroundSubject }: PlanInput, rng: Rng): PlannedBackground | undefined {
  const { background, blocks } = complete.protocol;
  if (background === undefined) return undefined;
  const all = Array.from({ length: blocks }, (_, index) => index + 1);
  const chosen =
    background.blocks === 'all'
      ? all
      : background.blocks === 'half'
        ? rng.shuffle(all).slice(0, Math.floor(blocks / 2))
        : background.blocks;
  const common = {
    name: background.name,
    blocks: [...chosen].sort((a, b) => a - b),
    settleMs: 1000 * background.settleS,
  };
  if (complete.background === undefined) return { ...common, argv: background.command ?? [], env: {} };
  if (backgroundSubject === undefined) throw new Error('nobody said what the background runs');
  const { model, binary } = backgroundSubject;
  const values: PlaceholderValues = { model, ...(binary === null ? {} : { binary }) };
  const { descriptor, knobs } = complete.background;
  return {
    ...common,
    ...resolveCommand(descriptor, knobs, values),
    serves: { engine: descriptor.name, model, maxNew: background.maxNew ?? BACKGROUND_TOKENS },
  };
}

/** Long answers: between two requests an engine does nothing. */
const BACKGROUND_TOKENS = 256;

function detectable(input: PlanInput, spread: number): number | null {
  const { protocol, arms } = input.complete;
  const blocks = protocol.blocks - (protocol.sweep?.screen ?? 0);
  const level = plannedLevel(Object.keys(arms).length - 1, protocol.workloads.length, blocks);
  return minDetectableEffect(spread, blocks, level);
}

export function makePlan(input: PlanInput): Plan {
  const { protocol } = input.complete;
  const rng = createRng(protocol.seed);
  const arms = planArms(input);
  const order = orderOf(
    protocol,
    arms.map((arm) => arm.name),
    rng.split('order'),
  );
  const runs = planRuns(order.rows);
  const background = planBackground(input, rng.split('background'));
  const spread =
    protocol.assumedSpread === undefined
      ? (input.measuredSpread ?? ASSUMED_SPREAD)
      : { value: protocol.assumedSpread, source: 'assumed: said by the protocol' };
  return {
    schemaVersion: 1,
    rota: input.rota,
    protocol: protocol.name,
    protocolSha256: input.protocolSha256,
    createdUtc: input.createdUtc,
    seed: protocol.seed,
    orderKind: order.kind,
    blocks: protocol.blocks,
    baseline: protocol.baseline,
    arms,
    runs,
    workloads: planWorkloads(input, rng),
    sampling: protocol.sampling,
    warmup: protocol.warmup,
    arbitration: protocol.arbitration,
    telemetryPeriodMs: protocol.telemetry.periodMs,
    guards: protocol.guards,
    margin: protocol.margin,
    ...(protocol.stop === undefined
      ? {}
      : { stop: { looks: protocol.stop.looks, precision: protocol.stop.precision ?? null } }),
    ...(protocol.sweep === undefined ? {} : { sweep: protocol.sweep }),
    ...(background === undefined ? {} : { background }),
    expectedMinutes: input.minutesPerRun === null ? null : input.minutesPerRun * runs.length,
    minDetectableEffect: detectable(input, spread.value),
    assumedSpread: spread,
  };
}
