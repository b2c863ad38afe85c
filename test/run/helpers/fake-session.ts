// A protocol on fake engines, from YAML to a finished session, in a folder that is gone afterwards.

import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { JournalEvent } from '../../../src/core/records/journal.ts';
import type { Plan } from '../../../src/core/records/plan.ts';
import type { Verdict } from '../../../src/core/records/verdict.ts';
import { systemClock } from '../../../src/machine/clock.ts';
import { readJournal } from '../../../src/results/journal.ts';
import type { RunFolder } from '../../../src/results/run-folder.ts';
import { encodePrompts, newRunFolder, preparePlan } from '../../../src/run/prepare.ts';
import type { Progress } from '../../../src/run/progress.ts';
import { runSession, type SessionOptions, type SessionOutcome } from '../../../src/run/session.ts';
import type { Subjects } from '../../../src/run/subjects.ts';
import { type CompleteProtocol, completeProtocol } from '../../../src/schema/load.ts';
import type { ArmOverride } from '../../../src/schema/override.ts';
import { parseProtocol } from '../../../src/schema/protocol.ts';
import { FAKE_ENGINE } from '../../engines/helpers/fake.ts';

export interface Arms {
  readonly [name: string]: {
    readonly play?: string;
    readonly rate?: number;
    readonly shift?: number;
    readonly lanes?: number;
    readonly ledger?: string;
    readonly override?: ArmOverride;
  };
}

function descriptorYaml(readyS: number, program: string, hasLedger: boolean): string {
  return `name: fake
summary: plays an engine
command: ['${program}', '${FAKE_ENGINE}', --model, '{model}']
transport: stdio
dialect: rota
ready: {timeoutS: ${readyS}}
stop: {graceS: 0.3}
tokenIds: true
counting: {file: disjoint, unit: lookup}
${hasLedger ? 'ledger: {knob: ledger}\n' : ''}knobs:
  play: {type: string, flag: --play, effect: unknown, summary: which part it plays}
  rate: {type: number, flag: --rate, effect: exact, summary: tokens a second}
  lanes: {type: int, flag: --lanes, effect: exact, summary: swallowed}
  ledger: {type: path, flag: --ledger, effect: exact, summary: a line a pass}
  shift: {type: int, flag: --shift, effect: lossy, summary: added to every id}
`;
}

const prompts = (name: string): string =>
  `prompts: [${[1, 2, 3, 4, 5, 6].map((i) => `{text: "${name} ${i}"}`).join(', ')}]
warmup: [{text: "${name} warm 1"}, {text: "${name} warm 2"}]
`;

function protocolYaml(arms: Arms, blocks: number, extra: string): string {
  return `name: fakes
engine: fake
model: model
baseline: ${Object.keys(arms)[0]}
arms: ${JSON.stringify(arms)}
blocks: ${blocks}
workloads:
  - {class: code, prompts: code.yaml, perBlock: 1, maxNew: 12}
  - {class: prose, prompts: prose.yaml, perBlock: 1, maxNew: 12}
warmup: {floorPromptsPerClass: 1, floorTokens: 24, windows: 3, capRequests: 6}
telemetry: {periodMs: 50}
${extra.includes('guards:') ? '' : 'guards: {foreignCpuShare: 1}'}
${extra}`;
}

export interface FakeProtocol {
  readonly complete: CompleteProtocol;
  readonly text: string;
  readonly folder: string;
}

export function fakeProtocol(
  folder: string,
  arms: Arms,
  options: {
    readonly blocks?: number;
    readonly readyS?: number;
    readonly extra?: string;
    readonly program?: string;
    /** Whether the descriptor says which knob is the ledger's. */
    readonly hasLedger?: boolean;
  } = {},
): FakeProtocol {
  const engines = path.join(folder, 'engines');
  mkdirSync(engines, { recursive: true });
  writeFileSync(
    path.join(engines, 'fake.yaml'),
    descriptorYaml(options.readyS ?? 10, options.program ?? process.execPath, options.hasLedger ?? false),
  );
  writeFileSync(path.join(folder, 'code.yaml'), prompts('code'));
  writeFileSync(path.join(folder, 'prose.yaml'), prompts('prose'));
  writeFileSync(path.join(folder, 'model'), '');
  const text = protocolYaml(arms, options.blocks ?? 1, options.extra ?? '');
  return { complete: completeProtocol(parseProtocol(text, 'p.yaml'), folder, engines), text, folder };
}

/** As findSubjects would, for arms that override nothing but the sampling. */
function fakeSubjects({ arms, descriptor, protocol }: CompleteProtocol, folder: string): Subjects {
  const subject = { descriptor, model: path.join(folder, 'model'), binary: null, overrides: [] };
  return Object.fromEntries(
    Object.keys(arms).map((name) => {
      const own = protocol.arms[name]?.override?.sampling;
      const sampling = { ...protocol.sampling, ...own };
      return [name, own === undefined ? subject : { ...subject, sampling, overrides: ['sampling'] }];
    }),
  );
}

export function preparedPlan({ complete, text, folder }: FakeProtocol): Plan {
  const { background } = complete;
  return preparePlan({
    ...(background === undefined
      ? {}
      : {
          backgroundSubject: {
            descriptor: background.descriptor,
            model: path.join(folder, 'model'),
            binary: null,
            overrides: [],
          },
        }),
    complete,
    protocolText: text,
    subjects: fakeSubjects(complete, folder),
    results: path.join(folder, 'results'),
    rota: '0.1.0',
    clock: systemClock,
  }).plan;
}

/** Letters as ids. */
export const LETTERS = {
  encode: (text: string): number[] => [...text].map((letter) => letter.charCodeAt(0)),
  bosId: 1,
};

export async function sessionOptions(
  protocol: FakeProtocol,
  plan: Plan,
  folder: RunFolder,
  more: Partial<SessionOptions> = {},
): Promise<SessionOptions> {
  return {
    folder,
    resumed: false,
    rota: '0.1.0',
    command: 'rota run p.yaml',
    descriptorOf: () => protocol.complete.descriptor,
    promptIds: await encodePrompts(plan, async () => LETTERS),
    probe: null,
    onProgress: () => {},
    onNotice: () => {},
    // The real loop takes a fifth of a second around each run; what it finds is not what is tested here.
    calibrate: () => ({
      arithmeticMs: 10,
      memoryMs: 5,
      clockMhz: null,
      thermalThrottles: null,
      quotaThrottles: null,
    }),
    shareMachine: false,
    lockFolder: protocol.folder,
    requestTimeoutMs: () => 2000,
    ...more,
  };
}

export interface FakeRun {
  readonly protocol: FakeProtocol;
  readonly plan: Plan;
  readonly folder: RunFolder;
  readonly outcome: SessionOutcome;
  readonly verdict: Verdict;
  readonly events: readonly JournalEvent[];
  readonly progress: readonly Progress[];
}

/** Runs a whole protocol in this process. */
export async function runFakes(
  folder: string,
  arms: Arms,
  options: Parameters<typeof fakeProtocol>[2] & { readonly session?: Partial<SessionOptions> } = {},
): Promise<FakeRun> {
  const protocol = fakeProtocol(folder, arms, options);
  const plan = preparedPlan(protocol);
  const run = newRunFolder(path.join(folder, 'results'), plan);
  const progress: Progress[] = [];
  const how = await sessionOptions(protocol, plan, run, {
    onProgress: (each) => progress.push(each),
    ...options.session,
  });
  const outcome = await runSession(how);
  if (outcome.verdict === null) throw new Error('the session did not finish');
  const { events } = readJournal(run);
  return { protocol, plan, folder: run, outcome, verdict: outcome.verdict, events, progress };
}

type Of<T extends JournalEvent['type']> = Extract<JournalEvent, { type: T }>;

export function eventsOf<T extends JournalEvent['type']>(events: readonly JournalEvent[], type: T): Of<T>[] {
  return events.filter((event): event is Of<T> => event.type === type);
}
