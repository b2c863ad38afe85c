// The parts that run, ab and resume have in common: from a checked protocol to a plan, from a run folder to its report.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { twinArms } from '../core/design/twins.ts';
import { EXIT } from '../core/errors.ts';
import type { Plan } from '../core/records/plan.ts';
import type { BuildProgress } from '../engines/build.ts';
import { readMachineCard } from '../machine/card.ts';
import { systemClock } from '../machine/clock.ts';
import { openTokenizer } from '../model/tokenizer.ts';
import { hasCertificates, newestCertificate } from '../results/certificates.ts';
import { readPlan } from '../results/read.ts';
import type { RunFolder } from '../results/run-folder.ts';
import { findProbe } from '../run/ceilings.ts';
import { interruptible } from '../run/interrupts.ts';
import { encodePrompts, newRunFolder, type Prepared, preparePlan } from '../run/prepare.ts';
import { runSession } from '../run/session.ts';
import { smoke } from '../run/smoke.ts';
import {
  ensureBuilds,
  findBackground,
  findSubjects,
  type Subject,
  type SubjectOptions,
  type Subjects,
} from '../run/subjects.ts';
import { type CompleteProtocol, loadDescriptor } from '../schema/load.ts';
import { certify } from './certify.ts';
import type { Context } from './context.ts';
import { createLiveLine } from './live-line.ts';
import { makeModel } from './make-model.ts';
import { printPlan, printVerdict, type ReportForm } from './printing.ts';
import { createWatch } from './watch.ts';

export interface MeasureOptions extends ReportForm {
  readonly plan?: true | undefined;
  readonly smoke?: true | undefined;
  readonly shareMachine?: true | undefined;
}

/** Prints the plan, and unless that is all, measures it and prints the verdict. */
export async function measure(
  context: Context,
  what: {
    readonly complete: CompleteProtocol;
    readonly text: string;
    readonly command: string;
    /** Identical arms are what is wanted, not a mistake. */
    readonly equalArms?: true;
  },
  options: MeasureOptions,
): Promise<void> {
  const subjects = await subjectsOf(context, what.complete);
  const prepared = preparePlan({
    complete: what.complete,
    protocolText: what.text,
    subjects: subjects.arms,
    backgroundSubject: subjects.background,
    measuredSpread: await measuredSpread(context, what.complete, subjects.arms),
    equalArms: what.equalArms === true,
    results: context.results,
    rota: context.version,
    clock: systemClock,
  });
  if (options.plan) return printPlan(context, prepared, options);
  if (!options.json) tellPlan(context, prepared);
  await buildOthers(context, prepared.plan);
  if (options.smoke) return await tryArms(context, prepared.plan, what.command, options);
  const folder = newRunFolder(context.results, prepared.plan);
  await runFolderSession(context, folder, { command: what.command, resumed: false }, options);
}

export async function runFolderSession(
  context: Context,
  folder: RunFolder,
  { command, resumed }: { readonly command: string; readonly resumed: boolean },
  options: MeasureOptions,
): Promise<void> {
  context.runFolder = folder.path;
  context.resumable = folder.name;
  const plan = readPlan(folder);
  context.tell(`run folder: ${folder.path}\n`);
  const watch = createWatch(context);
  const descriptorOf = (engine: string) => loadDescriptor(context.engines, engine);
  if (resumed) await buildOthers(context, plan);
  const [first] = plan.arms;
  if (first === undefined) throw new Error('a plan without arms');
  const outcome = await runSession({
    folder,
    resumed,
    rota: context.version,
    command,
    descriptorOf,
    promptIds: await encodePrompts(plan, openTokenizer),
    probe: findProbe(descriptorOf(first.engine), context.root, plan.arms),
    onProgress: watch.onProgress,
    onNotice: watch.onNotice,
    shareMachine: options.shareMachine === true,
  }).finally(watch.end);
  process.exitCode = outcome.exitCode;
  context.resumable = null;
  if (outcome.verdict === null) return tellResume(context, folder, outcome.reason);
  const { verdict } = outcome;
  if (twinArms(plan.arms).length > 0) certify(context, { plan, verdict, folder }, options.json === true);
  else printVerdict(context, plan, verdict, options);
  context.tell(`record: ${folder.path}; show it again with: rota report ${folder.name}\n`);
}

function tellResume(context: Context, folder: RunFolder, reason: string | undefined): void {
  const why = reason === undefined ? 'interrupted' : `stopped by the guard: ${reason}`;
  const when = reason === undefined ? 'Go on' : 'Go on when the machine is quiet';
  context.tell(`${why}; every finished run is kept. ${when} with:\n  rota resume ${folder.name}\n`);
}

function tellPlan(context: Context, prepared: Prepared): void {
  printPlan({ ...context, print: context.tell }, prepared, {});
}

/** What identical arms showed here, if they did so lately: its upper bound, for the spread itself is poorly known. */
async function measuredSpread(
  { results }: Context,
  { protocol }: CompleteProtocol,
  subjects: Subjects,
): Promise<Plan['assumedSpread'] | null> {
  const base = subjects[protocol.baseline];
  if (base === undefined || protocol.assumedSpread !== undefined || !hasCertificates(results)) return null;
  const { key: machineKey } = await readMachineCard();
  const subject = { machineKey, engine: base.descriptor.name, model: base.model };
  const found = newestCertificate(results, subject, systemClock.wallMs());
  if (found === null) return null;
  const value = Math.max(...found.classes.map(({ spreadUpper }) => spreadUpper));
  const source = `measured: the upper bound of ${found.blocks} blocks of identical arms on ${found.utc.slice(0, 10)}`;
  return value > 0 ? { value, source } : null;
}

/** What Rota makes by itself is made now, so that no run waits for it. */
async function subjectsOf(
  context: Context,
  complete: CompleteProtocol,
): Promise<{ readonly arms: Subjects; readonly background: Subject | undefined }> {
  const options: SubjectOptions = {
    complete,
    root: context.root,
    ensureModel: (model) => makeModel(context, model),
  };
  return { arms: await findSubjects(options), background: await findBackground(options) };
}

async function buildOthers(context: Context, plan: Plan): Promise<void> {
  const live = createLiveLine(context);
  const told = new Set<string>();
  const show = ({ ref, step, line }: BuildProgress & { readonly ref: string }): void => {
    if (!told.has(ref)) context.tell(`building ${ref}\n`);
    told.add(ref);
    live.show(`${ref}: ${step} ${line ?? ''}`);
  };
  const descriptorOf = (engine: string) => loadDescriptor(context.engines, engine);
  await interruptible((signal) =>
    ensureBuilds(plan, { descriptorOf, root: context.root, signal, onProgress: show }),
  ).finally(live.clear);
}

async function tryArms(
  context: Context,
  plan: Plan,
  command: string,
  options: MeasureOptions,
): Promise<void> {
  const promptIds = await encodePrompts(plan, openTokenizer);
  const logFolder = await mkdtemp(join(tmpdir(), 'rota-smoke-'));
  const results = await smoke({
    plan,
    descriptorOf: (engine) => loadDescriptor(context.engines, engine),
    promptIds,
    logFolder,
    command,
    shareMachine: options.shareMachine === true,
    onNotice: (text) => context.tell(`note: ${text}\n`),
    onResult: ({ arm, problem, loadMs, tokens, logTail }) => {
      const load = loadMs === null ? 'n/a' : `${(loadMs / 1000).toFixed(1)} s`;
      if (!options.json)
        context.print(
          problem === null
            ? `ok    ${arm}: ready in ${load}, ${tokens} tokens\n`
            : `FAIL  ${arm}: ${problem}\n`,
        );
      if (problem !== null) context.tell(logTail.map((line) => `  | ${line}\n`).join(''));
    },
  }).finally(() => rm(logFolder, { recursive: true, force: true }));
  if (options.json) context.print(`${JSON.stringify({ smoke: results }, null, 2)}\n`);
  if (results.some((result) => result.problem !== null)) process.exitCode = EXIT.couldNotMeasure;
}
