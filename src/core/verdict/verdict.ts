// From plan and journal to the verdict: a pure function, so that it can be made again byte for byte.

import { commandLine } from '../command-line.ts';
import { EXIT } from '../errors.ts';
import { geometricMean, type Known } from '../known.ts';
import { armLabel, lossyInUse } from '../records/arm-label.ts';
import type { Decision } from '../records/journal.ts';
import type { Plan, PlannedArm } from '../records/plan.ts';
import type { ArmClassVerdict, Headline, Verdict } from '../records/verdict.ts';
import { deepRounded } from '../stable-json.ts';
import type { ClassRun } from './aggregate.ts';
import { besideBaseline, claimedRuns, outputOf } from './beside-baseline.ts';
import { type Context, contextOf, type VerdictInput } from './context.ts';
import { costWords } from './cost.ts';
import { executedOrder } from './executed.ts';
import { aloneWords, besideWords, calmRuns } from './foreign-load.ts';
import { verdictLine } from './lines.ts';
import { claimBlocks, leftOutArms, spendAfter } from './looks.ts';
import { headlineOf, speedNotes } from './notes.ts';
import type { OutputFinding } from './output.ts';
import { decisionsOf, goodAttempts, type Replay, replay } from './replay.ts';
import type { SpeedFinding } from './speed.ts';
import { recordedTest, type SpeedSection, speedSection, spreadInterval } from './speed-section.ts';
import { isSteadier, type SpreadFinding } from './spread.ts';
import { brokenWindows, warningsOf } from './warnings.ts';
import { boundsOf, workOf } from './work.ts';

/**
 * Exit code: an A/B is a measurement, not a gate, so a slower or changed arm is 0. 5: counters contradict themselves. 3: a run
 * or a rate is missing. Throws InvalidRecordError when the journal contradicts the plan.
 */
export function computeVerdict(input: VerdictInput): Verdict {
  const { plan, events } = input;
  const record = replay(plan, events);
  const ok = goodAttempts(record);
  const decisions = decisionsOf(events);
  const leftOut = leftOutArms(decisions);
  const context = contextOf(input, ok, record, leftOut);
  const spend = spendAfter(plan, claimBlocks(plan, blocksDone(record, decisions)));
  const rules = { margin: plan.margin, spend };
  const section = speedSection(plan, context.runsOf, rules, leftOut);
  const calm = calmRuns(context.machine.foreignLoad, context.runsOf);
  const alone = calm === null ? null : speedSection(plan, calm, rules, leftOut);
  const rows = rowsOf(context, section, alone).map(deepRounded);
  const broken = brokenWindows(plan, ok);
  const rateProblems = context.all.flatMap(({ attempt, problem, className }) =>
    problem === null ? [] : [`${attempt.planned.id} ${className}: ${problem}`],
  );
  const complete = record.runs.every((run) => run.ok !== null);
  const { device, subject, noise, machine } = context;
  const { self } = noise;
  const executed = executedOrder(ok);
  return {
    schemaVersion: 1,
    protocol: plan.protocol,
    runFolder: input.runFolder,
    device,
    ...(subject === undefined ? {} : { subject }),
    baseline: plan.baseline,
    complete,
    exitCode:
      broken.length > 0
        ? EXIT.invalid
        : complete && rateProblems.length === 0
          ? EXIT.pass
          : EXIT.couldNotMeasure,
    runs: record.runs.map(({ planned, attempts, ok: run }) => ({
      id: planned.id,
      status: run !== null ? 'ok' : attempts.length > 0 ? 'void' : 'missing',
    })),
    decisions,
    executed,
    arms: rows,
    headlines: headlinesOf(context, rows, section).map(deepRounded),
    components: section.components.map(deepRounded),
    ceilings: context.bandwidths,
    ...deepRounded(machine),
    bounds: boundsIn(context),
    warnings: warningsOf({
      plan,
      replay: record,
      ok,
      device,
      broken,
      self,
      rateProblems,
      rows,
      machine,
      executed,
    }),
    journalSha256: input.journalSha256,
  };
}

/**
 * The blocks that looks count: up to the first that lacks a run of an arm that runs at all, and never fewer than the session had
 * when it decided. So a verdict is judged at the look that ended it.
 */
function blocksDone({ runs }: Replay, decisions: readonly Decision[]): number {
  const ran = new Set(runs.flatMap(({ ok }) => (ok === null ? [] : [ok.planned.arm])));
  const blocksOf = (some: Replay['runs']): number[] => some.map(({ planned }) => planned.block);
  const lacking = blocksOf(runs.filter(({ planned, ok }) => ok === null && ran.has(planned.arm)));
  const whole = lacking.length === 0 ? Math.max(0, ...blocksOf(runs)) : Math.min(...lacking) - 1;
  return Math.max(whole, ...decisions.map(({ afterBlock }) => afterBlock));
}

const baselineFirst = (plan: Plan): PlannedArm[] =>
  [...plan.arms].sort((a, b) => Number(b.name === plan.baseline) - Number(a.name === plan.baseline));

function boundsIn(context: Context): ReturnType<typeof boundsOf> {
  const { plan } = context.input;
  const names = baselineFirst(plan).map(({ name }) => name);
  const runsOf = (arm: string): ClassRun[] =>
    plan.workloads.flatMap((workload) => claimedRuns(context, arm, workload.class));
  return boundsOf(names, runsOf, context);
}

/** Class by class, the baseline first: the arms of a class are read against each other, classes never. */
function rowsOf(context: Context, section: SpeedSection, alone: SpeedSection | null): ArmClassVerdict[] {
  const { plan } = context.input;
  const ordered = baselineFirst(plan);
  return plan.workloads.flatMap(({ class: className }) =>
    ordered.map((arm) => {
      const row = rowOf(context, arm, className, section);
      const words = besideWords(
        context.machine.foreignLoad,
        row.perBlock.map(({ block }) => block),
      );
      // What the blocks that were left alone say stands beside what all say: nobody chooses between the two afterwards.
      return row.speed === 'baseline' || words === ''
        ? row
        : { ...row, line: row.line + words + aloneWords(row.speed, alone?.speed(arm.name, className)) };
    }),
  );
}

function headlinesOf(
  { plan, machine: { foreignLoad } }: Context,
  rows: readonly ArmClassVerdict[],
  { headlines }: SpeedSection,
): Headline[] {
  return headlines.map((finding) => {
    const arm = plan.arms.find((each) => each.name === finding.speed.arm);
    if (arm === undefined) throw new Error(`the plan has no arm ${finding.speed.arm}`);
    const outputs = rows.filter((row) => row.arm === arm.name);
    const headline = headlineOf(
      finding,
      outputs.map(({ output, outputReason: reason }) => ({ output, reason })),
      plan.margin,
    );
    const blocks = [...new Set(outputs.flatMap(({ perBlock }) => perBlock.map(({ block }) => block)))];
    return { ...headline, line: labelled(arm, headline.line) + besideWords(foreignLoad, blocks) };
  });
}

function baselineOutput({ noise: { self } }: Context): OutputFinding {
  if (self.state === 'differs') return { output: 'LX', reason: `does not repeat itself (${self.prompt})` };
  const repeats = self.state === 'repeats' ? `repeats itself in ${self.starts} starts` : 'not self-checked';
  return { output: 'L0', reason: `the baseline: ${repeats}` };
}

function rowOf(context: Context, arm: PlannedArm, className: string, section: SpeedSection): ArmClassVerdict {
  const { input } = context;
  const speed = section.speed(arm.name, className);
  const spread = section.spread(arm.name, className);
  const robust = speed === undefined ? null : section.robust(arm.name, className);
  const runs = claimedRuns(context, arm.name, className);
  const output = speed === undefined ? baselineOutput(context) : outputOf(context, arm, className);
  const beside = speed === undefined ? {} : besideBaseline(context, arm, className, { output, speed });
  const tokPerSec = geometricMean(runs.map((run) => run.tokPerSec));
  const problem =
    section.screenedOut(arm.name) ??
    runs.find((run) => run.problem !== null)?.problem ??
    (runs.length === 0 ? 'no run ended well' : null);
  const steadier = speed !== undefined && isSteadier(output.output, speed, spread);
  const baseSpread = section.spread(input.plan.baseline, className);
  return {
    arm: arm.name,
    class: className,
    output: output.output,
    outputReason: output.reason,
    ...speedFields(speed, spread, steadier),
    robust,
    tokPerSec,
    ...workOf(runs, tokPerSec, context),
    blocks: runs.length,
    idsSha256: idsHash(runs, input.sha256),
    command: commandLine(arm.argv, arm.env),
    ...beside,
    ...(lossyInUse(arm).length === 0 ? {} : { lossy: lossyInUse(arm) }),
    ...(arm.overrides.length === 0 ? {} : { overrides: arm.overrides }),
    perBlock: perBlockOf(runs, input.sha256),
    line: labelled(
      arm,
      speed === undefined
        ? baselineLine(tokPerSec, output, problem)
        : verdictLine(output, speed, input.plan.margin, problem) +
            costWords(output, beside.split ?? null) +
            speedNotes({ speed, robust, spread, baseSpread, steadier }),
    ),
  };
}

function perBlockOf(
  runs: readonly ClassRun[],
  sha256: (text: string) => string,
): ArmClassVerdict['perBlock'] {
  return runs.map((run) => ({
    block: run.attempt.planned.block,
    run: run.attempt.planned.id,
    tokPerSec: run.tokPerSec,
    idsSha256: idsHash([run], sha256),
    passes: run.totals.counters.passes,
    lookups: run.totals.counters.bySource,
  }));
}

function speedFields(
  speed: SpeedFinding | undefined,
  spread: SpreadFinding | undefined,
  steadier: boolean,
): Pick<ArmClassVerdict, 'speed' | 'ratio' | 'test' | 'spread' | 'spreadRatio'> {
  return {
    speed: speed === undefined ? 'baseline' : steadier ? 'steadier' : speed.speed,
    ratio: speed?.ratio ?? null,
    test: speed === undefined ? null : recordedTest(speed.test, speed.unequal),
    spread: spreadInterval(spread),
    spreadRatio: spread?.ratio ?? null,
  };
}

/** What may change the output is said before what it did to the speed. */
function labelled(arm: PlannedArm, line: string): string {
  const label = armLabel(arm);
  return label === '' ? line : `${label} ${line}`;
}

function baselineLine(tokPerSec: Known, output: OutputFinding, problem: string | null): string {
  const rate =
    tokPerSec === null ? `speed not measured: ${problem ?? 'unknown'}` : `${tokPerSec.toPrecision(4)} tok/s`;
  return `baseline, ${rate}${output.output === 'LX' ? ` (${output.reason})` : ''}`;
}

/** Over the hashes of every request in block and prompt order; unknown as soon as one is. */
function idsHash(runs: readonly ClassRun[], sha256: (text: string) => string): string | null {
  const hashes = runs.flatMap((run) => run.windows.map((window) => window.idsSha256));
  if (hashes.length === 0 || hashes.includes(null)) return null;
  return sha256(hashes.map((hash) => `${hash}\n`).join(''));
}
