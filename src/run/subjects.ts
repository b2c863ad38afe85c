// Owns what each arm really runs: which engine, which program, which weights, and how those that differ from the protocol are called.
// Everything is found or made before the plan is; only builds of other commits wait until they are needed.

import { existsSync } from 'node:fs';
import path from 'node:path';
import { UserError } from '../core/errors.ts';
import type { Plan, Sampling } from '../core/records/plan.ts';
import { type BuildProgress, binaryPath } from '../engines/build.ts';
import { type CommitBuild, commitBinary, ensureCommitBuild, resolveRef } from '../engines/ref-build.ts';
import type { EngineDescriptor } from '../schema/descriptor.ts';
import type { CompleteProtocol } from '../schema/load.ts';
import { OVERRIDE, type ProtocolModel } from '../schema/override.ts';

export interface Subject {
  readonly descriptor: EngineDescriptor;
  readonly model: string;
  readonly binary: string | null;
  readonly build?: CommitBuild;
  readonly sampling?: Sampling;
  readonly overrides: readonly string[];
}

export type Subjects = Readonly<Record<string, Subject>>;

export interface SubjectOptions {
  readonly complete: CompleteProtocol;
  readonly root: string;
  /** Finds a model or makes a synthetic one; gives its path. */
  readonly ensureModel: (model: ProtocolModel) => Promise<string>;
}

export async function findSubjects(options: SubjectOptions): Promise<Subjects> {
  const { protocol, folder } = options.complete;
  const model = await options.ensureModel(inFolder(folder, protocol.model));
  const found: Record<string, Subject> = {};
  for (const [name, { override = {} }] of Object.entries(protocol.arms)) {
    const descriptor = options.complete.otherEngines[name] ?? options.complete.descriptor;
    const program = await findProgram(options, name, descriptor);
    const ownModel =
      override.model === undefined ? model : await options.ensureModel(inFolder(folder, override.model));
    const sampling = changesOf(override.sampling ?? {}, protocol.sampling);
    found[name] = {
      descriptor,
      model: ownModel,
      binary: program.binary,
      ...(program.build === undefined ? {} : { build: program.build }),
      ...(Object.keys(sampling).length === 0 ? {} : { sampling: { ...protocol.sampling, ...sampling } }),
      overrides: [
        ...(descriptor.name === protocol.engine ? [] : [`engine ${descriptor.name}`]),
        ...program.words,
        ...(override.model === undefined || ownModel === model ? [] : [`model ${modelWord(override.model)}`]),
        ...samplingWords(sampling),
      ],
    };
  }
  return found;
}

/** Undefined: no background, or one that is a command. */
export async function findBackground(options: SubjectOptions): Promise<Subject | undefined> {
  const { complete, root } = options;
  const { protocol, background } = complete;
  if (background === undefined) return undefined;
  const model = await options.ensureModel(
    inFolder(complete.folder, protocol.background?.model ?? protocol.model),
  );
  return {
    descriptor: background.descriptor,
    model,
    binary: binaryPath(background.descriptor, root, background.knobs),
    overrides: [],
  };
}

const inFolder = (folder: string, model: ProtocolModel): ProtocolModel =>
  'path' in model ? { path: path.resolve(folder, model.path) } : model;

/** What is overridden by the same value is not overridden. */
function changesOf(own: Partial<Sampling>, protocol: Sampling): Partial<Sampling> {
  const keys = ['temperature', 'topP', 'seed'] as const;
  return Object.fromEntries(
    keys.flatMap((key) => (own[key] === undefined || own[key] === protocol[key] ? [] : [[key, own[key]]])),
  );
}

interface Program {
  readonly binary: string | null;
  readonly build?: CommitBuild;
  readonly words: readonly string[];
}

async function findProgram(
  { complete, root }: SubjectOptions,
  arm: string,
  descriptor: EngineDescriptor,
): Promise<Program> {
  const other = complete.protocol.arms[arm]?.override?.build;
  const knobs = complete.arms[arm] ?? {};
  const usual = binaryPath(descriptor, root, knobs);
  if (other === undefined) return { binary: usual, words: [] };
  const where = (key: string): string => complete.source.where(['arms', arm, OVERRIDE, 'build', key]);
  if ('ref' in other) {
    const build = await resolveRef(root, other.ref, where('ref'));
    const binary = commitBinary(descriptor, root, build, knobs);
    const commit = build.commit.slice(0, 12);
    return { binary, build, words: [`build ${other.ref === commit ? commit : `${other.ref} (${commit})`}`] };
  }
  const binary = path.resolve(complete.folder, other.binary);
  if (!existsSync(binary)) {
    throw new UserError('there is no such program', {
      where: where('binary'),
      hint: `arm ${arm} would run ${binary}`,
    });
  }
  return { binary, words: binary === usual ? [] : [`build ${other.binary}`] };
}

function modelWord(model: ProtocolModel): string {
  if ('path' in model) return model.path;
  if ('bundled' in model) return `${model.bundled}${model.form === 'teacher' ? ':teacher' : ''}`;
  const { config, seed, expertFormat, checkMemory: _, ...others } = model.synth;
  const head = `synth:${config}:${seed}${expertFormat === undefined ? '' : `:${expertFormat}`}`;
  // denseFormat: "dense mxfp8"; hotExperts: "hot experts 0.2".
  const word = (key: string): string =>
    key.replace(/Format$/, '').replace(/[A-Z]/, (big) => ` ${big.toLowerCase()}`);
  return [head, ...Object.entries(others).map(([key, value]) => `${word(key)} ${value}`)].join(' ');
}

function samplingWords({ temperature, topP, seed }: Partial<Sampling>): string[] {
  return [
    ...(temperature === undefined ? [] : [`temperature ${temperature}`]),
    ...(topP === undefined ? [] : [`top-p ${topP}`]),
    ...(seed === undefined ? [] : [`seed ${seed}`]),
  ];
}

/** Builds the commits that a plan names, each once, before its first engine starts. */
export async function ensureBuilds(
  plan: Pick<Plan, 'arms'>,
  how: {
    readonly descriptorOf: (engine: string) => EngineDescriptor;
    readonly root: string;
    readonly onProgress: (progress: BuildProgress & { readonly ref: string }) => void;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<void> {
  for (const { engine, build, knobs } of plan.arms) {
    if (build === undefined) continue;
    const { ref } = build;
    await ensureCommitBuild(how.descriptorOf(engine), how.root, build, {
      knobs,
      onProgress: (progress) => how.onProgress({ ...progress, ref }),
      signal: how.signal,
    });
  }
}
