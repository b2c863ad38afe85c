// Reads descriptors, protocols and prompt files from disk and checks them against each other. The only file access of the schema.

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type EngineDescriptor, parseDescriptor } from './descriptor.ts';
import { type KnobSpecs, type Knobs, validateKnobs } from './knobs.ts';
import { nameHint } from './nearest.ts';
import { type ArmOverride, OVERRIDE } from './override.ts';
import { collectProblems, type Problem, ProblemsError, throwProblems } from './problems.ts';
import { type PromptFile, parsePrompts } from './prompts.ts';
import { type ParsedProtocol, type Protocol, parseProtocol, protocolContradictions } from './protocol.ts';
import type { YamlSource } from './yaml-source.ts';

/** A protocol that has been checked whole: against its engine, its prompts and itself. */
export interface CompleteProtocol {
  readonly protocol: Protocol;
  readonly source: YamlSource;
  /** Relative paths in the protocol start here. */
  readonly folder: string;
  readonly descriptor: EngineDescriptor;
  /** Knobs of each arm, common ones included, in their normal form. */
  readonly arms: Readonly<Record<string, Knobs>>;
  /** Engines of the arms that have another one than the protocol. */
  readonly otherEngines: Readonly<Record<string, EngineDescriptor>>;
  readonly prompts: Readonly<Record<string, PromptFile>>;
  /** Where the background is an engine. */
  readonly background?: { readonly descriptor: EngineDescriptor; readonly knobs: Knobs };
}

export function engineNames(enginesFolder: string): string[] {
  return readdirSync(enginesFolder)
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => name.slice(0, -'.yaml'.length))
    .sort();
}

/** Reads engines/NAME.yaml. `where` is where the name was written, for the message when there is no such engine. */
export function loadDescriptor(enginesFolder: string, name: string, where = ''): EngineDescriptor {
  const names = engineNames(enginesFolder);
  if (!names.includes(name)) {
    const message = `there is no engine "${name}"`;
    throw new ProblemsError([{ where, path: '', message, hint: nameHint(name, names) }]);
  }
  const file = path.join(enginesFolder, `${name}.yaml`);
  const { descriptor, source } = parseDescriptor(readText(file), shortPath(file));
  if (descriptor.name !== name) {
    const message = `must be "${name}", as the file is`;
    throw new ProblemsError([{ where: source.where(['name']), path: 'name', message }]);
  }
  return descriptor;
}

export function loadProtocol(file: string, enginesFolder: string): CompleteProtocol {
  const parsed = parseProtocol(readText(file), shortPath(file));
  return completeProtocol(parsed, path.dirname(path.resolve(file)), enginesFolder);
}

/** Checks a parsed protocol against its engine's knobs and its prompt files; every problem is told at once. */
export function completeProtocol(
  parsed: ParsedProtocol,
  folder: string,
  enginesFolder: string,
): CompleteProtocol {
  const { protocol, source } = parsed;
  const problems: Problem[] = protocolContradictions(protocol, source);
  const descriptor = collectProblems(problems, () =>
    loadDescriptor(enginesFolder, protocol.engine, source.where(['engine'])),
  );
  const otherEngines = loadOtherEngines(protocol, source, enginesFolder, problems);
  const arms =
    descriptor === undefined ? {} : checkArms(protocol, { descriptor, otherEngines }, source, problems);
  const background = checkBackground(protocol, source, enginesFolder, problems);
  const prompts = checkPrompts(protocol, source, folder, problems);
  throwProblems(problems);
  if (descriptor === undefined) throw new Error('a missing descriptor must have been a problem');
  const common = { protocol, source, folder, descriptor, arms, otherEngines, prompts };
  return background === undefined ? common : { ...common, background };
}

function checkBackground(
  { background }: Protocol,
  source: YamlSource,
  enginesFolder: string,
  problems: Problem[],
): CompleteProtocol['background'] {
  const engine = background?.engine;
  if (engine === undefined) return undefined;
  const descriptor = collectProblems(problems, () =>
    loadDescriptor(enginesFolder, engine, source.where(['background', 'engine'])),
  );
  if (descriptor === undefined) return undefined;
  const at = { source, path: ['background', 'knobs'] };
  return { descriptor, knobs: checkKnobs(descriptor.knobs, background?.knobs ?? {}, at, problems) };
}

function checkKnobs(
  specs: KnobSpecs,
  knobs: Readonly<Record<string, unknown>>,
  { source, path: at }: { readonly source: YamlSource; readonly path: readonly string[] },
  problems: Problem[],
): Knobs {
  const checked = validateKnobs(
    specs,
    knobs,
    (name, part) => source.where([...at, name], part),
    at.join('.'),
  );
  problems.push(...checked.problems);
  return checked.knobs;
}

function loadOtherEngines(
  { arms, engine: own }: Protocol,
  source: YamlSource,
  enginesFolder: string,
  problems: Problem[],
): Record<string, EngineDescriptor> {
  const found: Record<string, EngineDescriptor> = {};
  for (const [name, { override }] of Object.entries(arms)) {
    const engine = override?.engine;
    if (engine === undefined || !isOtherEngine({ engine: own }, override)) continue;
    const where = source.where(['arms', name, OVERRIDE, 'engine']);
    const descriptor = collectProblems(problems, () => loadDescriptor(enginesFolder, engine, where));
    if (descriptor !== undefined) found[name] = descriptor;
  }
  return found;
}

function isOtherEngine({ engine }: Pick<Protocol, 'engine'>, override: ArmOverride | undefined): boolean {
  return override?.engine !== undefined && override.engine !== engine;
}

/** The common knobs are those of the protocol's own engine: an arm with another one starts without any. */
function checkArms(
  protocol: Protocol,
  engines: Pick<CompleteProtocol, 'descriptor' | 'otherEngines'>,
  source: YamlSource,
  problems: Problem[],
): Record<string, Knobs> {
  const common = checkKnobs(
    engines.descriptor.knobs,
    protocol.common,
    { source, path: ['common'] },
    problems,
  );
  const arms = Object.entries(protocol.arms).map(([name, { override, ...own }]): [string, Knobs] => {
    const at = ['arms', name];
    const other = engines.otherEngines[name];
    // An engine that is not there has been told of; its knobs cannot be checked.
    if (other === undefined && isOtherEngine(protocol, override)) return [name, {}];
    const descriptor = other ?? engines.descriptor;
    problems.push(...buildProblems(descriptor, override, [...at, OVERRIDE, 'build'], source));
    const knobs = checkKnobs(descriptor.knobs, own, { source, path: at }, problems);
    return [name, other === undefined ? { ...common, ...knobs } : knobs];
  });
  return Object.fromEntries(arms);
}

/** Another program for an engine that names none, or another commit of one that is not built here. */
function buildProblems(
  { name, binary, build }: EngineDescriptor,
  override: ArmOverride | undefined,
  at: readonly string[],
  source: YamlSource,
): Problem[] {
  const other = override?.build;
  const isPossible = other === undefined || ('ref' in other ? build !== undefined : binary !== undefined);
  if (isPossible) return [];
  const message = `${name} is not ${'ref' in other ? 'built by Rota' : 'run by a program that the descriptor names'}`;
  return [{ where: source.where(at), path: at.join('.'), message }];
}

function checkPrompts(
  protocol: Protocol,
  source: YamlSource,
  folder: string,
  problems: Problem[],
): Record<string, PromptFile> {
  const files: Record<string, PromptFile> = {};
  for (const [index, workload] of protocol.workloads.entries()) {
    const at = ['workloads', index, 'prompts'];
    const file = collectProblems(problems, () => {
      const full = path.resolve(folder, workload.prompts);
      return parsePrompts(readText(full, source.where(at)), shortPath(full), (from, where) =>
        readText(path.resolve(path.dirname(full), from), where),
      );
    });
    if (file === undefined) continue;
    files[workload.class] = file;
    const needed = workload.perBlock * protocol.blocks;
    if (file.prompts.length < needed) {
      problems.push({
        where: source.where(['workloads', index, 'perBlock']),
        path: `workloads.${index}.perBlock`,
        message: `${protocol.blocks} blocks of ${workload.perBlock} need ${needed} prompts, ${workload.prompts} has ${file.prompts.length}`,
        hint: 'every block needs new prompts: add some, or lower perBlock or blocks',
      });
    }
    if (file.warmup.length < protocol.warmup.floorPromptsPerClass) {
      problems.push({
        where: source.where(at),
        path: at.join('.'),
        message: `the warm-up needs ${protocol.warmup.floorPromptsPerClass} prompts of each class, ${workload.prompts} has ${file.warmup.length}`,
      });
    }
  }
  return files;
}

function readText(file: string, where = ''): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    const reason =
      code === 'ENOENT'
        ? 'there is no such file'
        : code === 'EISDIR'
          ? 'is a folder'
          : `cannot be read (${code})`;
    throw new ProblemsError([{ where, path: file === '' ? '""' : shortPath(file), message: reason }]);
  }
}

/** As the user would type it: relative to where they are, when it is below. */
function shortPath(file: string): string {
  const relative = path.relative(process.cwd(), path.resolve(file));
  return relative.startsWith('..') || relative === '' ? file : relative;
}
