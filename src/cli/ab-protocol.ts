// The protocol that `rota ab` measures: two arms and the bundled prompts. Owns its defaults; everything is checked as in a file.
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { stringify } from 'yaml';
import type { EngineDescriptor } from '../schema/descriptor.ts';
import { type CompleteProtocol, completeProtocol, loadDescriptor } from '../schema/load.ts';
import { type ArmOverride, OVERRIDE, overrideShape, type ProtocolModel } from '../schema/override.ts';
import { parseProtocol } from '../schema/protocol.ts';
import { validate } from '../schema/validate.ts';
import { parseYaml } from '../schema/yaml-source.ts';
import { modelArgument } from './arguments.ts';
import type { Context } from './context.ts';
import { flagKnobs } from './flag-knobs.ts';

const CLASSES = ['enumeration', 'prose', 'code'];
/** The bundled prompt files have this many of each class; no prompt is measured twice. */
const PROMPTS = 16;
const MOST_PER_BLOCK = 4;

export interface AbRequest {
  /** Absent: ab and the engine's name. */
  readonly name?: string;
  readonly engine: string;
  readonly model: ProtocolModel;
  readonly flags: { readonly A: string; readonly B: string };
  /** YAML of an arm's `override`, where it has one. */
  readonly overrides: { readonly A: string | undefined; readonly B: string | undefined };
  readonly blocks: number;
  readonly maxNew: number;
  /** Share of all cores that others may use in a window. Absent: as in a file. */
  readonly foreignCpuShare?: number | undefined;
}

export function abProtocol(
  context: Pick<Context, 'root' | 'engines' | 'cwd'>,
  request: AbRequest,
): { readonly complete: CompleteProtocol; readonly text: string } {
  const descriptor = loadDescriptor(context.engines, request.engine);
  const { model } = request;
  const text = stringify({
    name: request.name ?? `ab-${request.engine}`,
    summary: 'two settings given on the command line',
    engine: request.engine,
    model: 'path' in model ? pathFromHere(context.cwd, model.path) : model,
    baseline: 'A',
    arms: { A: armOf(context, descriptor, request, 'A'), B: armOf(context, descriptor, request, 'B') },
    blocks: request.blocks,
    ...(request.foreignCpuShare === undefined
      ? {}
      : { guards: { foreignCpuShare: request.foreignCpuShare } }),
    workloads: CLASSES.map((name) => ({
      class: name,
      prompts: join(context.root, 'protocols', 'prompts', `${name}.yaml`),
      perBlock: Math.max(1, Math.min(MOST_PER_BLOCK, Math.floor(PROMPTS / request.blocks))),
      maxNew: request.maxNew,
    })),
  });
  return { complete: completeProtocol(parseProtocol(text, 'rota ab'), context.cwd, context.engines), text };
}

/** Its flags are those of the engine that it runs. */
function armOf(
  context: Pick<Context, 'engines'>,
  descriptor: EngineDescriptor,
  { flags, overrides }: AbRequest,
  arm: 'A' | 'B',
): Record<string, unknown> {
  const letter = arm.toLowerCase();
  const own = overrides[arm];
  if (own === undefined) return flagKnobs(descriptor, flags[arm], `-${letter}`);
  const override = overrideOf(own, `--override-${letter}`);
  const engine =
    override.engine === undefined ? descriptor : loadDescriptor(context.engines, override.engine);
  return { ...flagKnobs(engine, flags[arm], `-${letter}`), [OVERRIDE]: inFile(override) };
}

/** As it was written, but checked: so a mistake is told where it was typed. A model may be a word of the command line. */
function overrideOf(text: string, option: string): ArmOverride {
  const override = validate(overrideShape, parseYaml(text, option));
  const { model } = override;
  return model !== undefined && 'path' in model
    ? { ...override, model: modelArgument(model.path) }
    : override;
}

/** What a protocol file has there: a path is a word, not a map. */
function inFile({ model, ...rest }: ArmOverride): Record<string, unknown> {
  return model === undefined ? rest : { ...rest, model: 'path' in model ? model.path : model };
}

function pathFromHere(cwd: string, path: string): string {
  return existsSync(resolve(cwd, path)) ? resolve(cwd, path) : path;
}
