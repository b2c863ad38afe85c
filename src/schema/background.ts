// What a protocol may want to run beside its runs, as a factor: a command, or an engine that answers without end. Its shape and what no
// single field shows.

import { z } from 'zod';
import { modelShape, type ProtocolModel } from './override.ts';
import type { AddProblem } from './problems.ts';

export interface ProtocolBackground {
  readonly name: string;
  /** Either this, words of a command that is started as it is, or an engine. */
  readonly command?: readonly string[];
  readonly engine?: string;
  /** Of the engine. Absent: the protocol's. */
  readonly model?: ProtocolModel;
  readonly knobs?: Readonly<Record<string, unknown>>;
  /** Tokens of each of its answers. */
  readonly maxNew?: number;
  /** Beside every run of these blocks; `half`: of a half of them, drawn by the seed. */
  readonly blocks: 'all' | 'half' | readonly number[];
  /** Time that it has before the first run of a block. */
  readonly settleS: number;
}

const text = z.string().min(1);

export const backgroundShape = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]*$/, 'a background is named in lower case with dashes')
    .default('background'),
  command: z.array(text).min(1).exactOptional(),
  engine: text.exactOptional(),
  model: modelShape.exactOptional(),
  knobs: z.preprocess((value) => value ?? {}, z.record(z.string(), z.unknown())).exactOptional(),
  maxNew: z.int().min(2).exactOptional(),
  blocks: z.union([z.enum(['all', 'half']), z.array(z.int().min(1)).min(1)]).default('all'),
  settleS: z.number().min(0).max(3600).default(1),
});

export function backgroundContradictions(
  { background, blocks }: { readonly background?: ProtocolBackground; readonly blocks: number },
  add: AddProblem,
): void {
  if (background === undefined) return;
  const isCommand = background.command !== undefined;
  if (isCommand === (background.engine !== undefined))
    add(['background'], `needs either command or engine, got ${isCommand ? 'both' : 'none'}`);
  for (const key of ['model', 'knobs', 'maxNew'] as const) {
    if (isCommand && background[key] !== undefined)
      add(['background', key], 'belongs to an engine, not to a command');
  }
  if (background.blocks === 'half' && blocks < 2)
    add(['background', 'blocks'], 'half of one block is none: use all');
  if (typeof background.blocks === 'string') return;
  for (const [index, block] of background.blocks.entries()) {
    if (block > blocks) add(['background', 'blocks', index], `there are ${blocks} blocks, no block ${block}`);
    if (background.blocks.indexOf(block) !== index)
      add(['background', 'blocks', index], `block ${block} is given twice`);
  }
}
