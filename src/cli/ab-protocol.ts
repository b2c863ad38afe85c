// The protocol that `rota ab` measures: two arms and the bundled prompts. Owns its defaults; everything is checked as in a file.
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { type CompleteProtocol, completeProtocol, loadDescriptor } from '../schema/load.ts';
import type { ProtocolModel } from '../schema/override.ts';
import { parseProtocol } from '../schema/protocol.ts';
import type { Context } from './context.ts';
import { flagKnobs } from './flag-knobs.ts';

const CLASSES = ['enumeration', 'prose', 'code'];
/** The bundled prompt files have this many of each class; no prompt is measured twice. */
const PROMPTS = 16;
const MOST_PER_BLOCK = 4;

export interface AbRequest {
  readonly engine: string;
  readonly model: ProtocolModel;
  readonly flags: { readonly A: string; readonly B: string };
  readonly blocks: number;
  readonly maxNew: number;
}

export function abProtocol(
  context: Pick<Context, 'root' | 'engines' | 'cwd'>,
  request: AbRequest,
): { readonly complete: CompleteProtocol; readonly text: string } {
  const descriptor = loadDescriptor(context.engines, request.engine);
  const { model } = request;
  const text = stringify({
    name: `ab-${request.engine}`,
    summary: 'two settings given on the command line',
    engine: request.engine,
    model: 'path' in model ? pathFromHere(context.cwd, model.path) : model,
    baseline: 'A',
    arms: {
      A: flagKnobs(descriptor, request.flags.A, '-a'),
      B: flagKnobs(descriptor, request.flags.B, '-b'),
    },
    blocks: request.blocks,
    workloads: CLASSES.map((name) => ({
      class: name,
      prompts: join(context.root, 'protocols', 'prompts', `${name}.yaml`),
      perBlock: Math.max(1, Math.min(MOST_PER_BLOCK, Math.floor(PROMPTS / request.blocks))),
      maxNew: request.maxNew,
    })),
  });
  return { complete: completeProtocol(parseProtocol(text, 'rota ab'), context.cwd, context.engines), text };
}

function pathFromHere(cwd: string, path: string): string {
  return existsSync(resolve(cwd, path)) ? resolve(cwd, path) : path;
}
