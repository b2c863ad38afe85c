// A file of prompts of one content class: those that are measured, and others for warming up.

import { z } from 'zod';
import { UserError } from '../core/errors.ts';
import type { PlannedPrompt } from '../core/records/plan.ts';
import { validate } from './validate.ts';
import { parseYaml } from './yaml-source.ts';

export interface PromptFile {
  readonly summary: string;
  readonly prompts: readonly PlannedPrompt[];
  /** Never measured, and never the text of a measured prompt: that would measure a warm cache. */
  readonly warmup: readonly PlannedPrompt[];
}

/** Either a text, or so many words of a file from the word `at` on, round and round: as long a prompt as is wanted. */
interface RawPrompt {
  readonly id?: string;
  readonly text?: string;
  readonly from?: string;
  readonly at?: number;
  readonly words?: number;
}

/** The text of a file that a prompt file names; `where` is the place that names it. */
export type ReadText = (from: string, where: string) => string;

interface RawPromptFile {
  readonly summary: string;
  readonly prompts: readonly RawPrompt[];
  readonly warmup: readonly RawPrompt[];
}

const prompt = z.strictObject({
  id: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'an id holds letters, digits, dots and dashes')
    .exactOptional(),
  text: z.string().min(1).exactOptional(),
  /** Relative to the prompt file. */
  from: z.string().min(1).exactOptional(),
  at: z.int().min(0).exactOptional(),
  words: z.int().min(1).max(1_000_000).exactOptional(),
});

const promptFile = z
  .strictObject({
    summary: z.string().default(''),
    prompts: z.array(prompt).min(1),
    warmup: z.array(prompt).min(1),
  })
  .superRefine((file, context) => {
    const ids = new Set<string>();
    const texts = new Set<string>();
    for (const list of ['prompts', 'warmup'] as const) {
      for (const [index, raw] of file[list].entries()) {
        const id = idOf(list, index, raw);
        const issue = (key: string, message: string): void =>
          context.addIssue({ code: 'custom', path: [list, index, key], message });
        if (ids.has(id)) issue('id', `the id "${id}" is given twice`);
        ids.add(id);
        const isDrawn = raw.from !== undefined && raw.words !== undefined;
        const isText = raw.from === undefined && raw.words === undefined && raw.at === undefined;
        if (raw.text === undefined ? !isDrawn : !isText) {
          issue('text', 'a prompt has a text, or from and words (and at), and not both');
          continue;
        }
        const begin = raw.text?.trim() ?? `${raw.from} from word ${raw.at ?? 0}`;
        if (texts.has(begin))
          issue(
            raw.text === undefined ? 'at' : 'text',
            'the same text stands twice; a measured prompt must be new to the engine',
          );
        texts.add(begin);
      }
    }
  });

type List = 'prompts' | 'warmup';

/** Prompts without an id are named by their place: p01, p02, …; those of the warm-up w01, w02, … */
const idOf = (list: List, index: number, { id }: RawPrompt): string =>
  id ?? `${list === 'prompts' ? 'p' : 'w'}${String(index + 1).padStart(2, '0')}`;

/** `count` words of a text with what stands between them; behind the last word comes the first. */
function drawnWords(text: string, at: number, count: number): string | undefined {
  const words = text.match(/\S+\s*/g) ?? [];
  if (words.length === 0) return undefined;
  return Array.from({ length: count }, (_, index) => words[(at + index) % words.length])
    .join('')
    .trimEnd();
}

export function parsePrompts(yaml: string, file: string, readText: ReadText): PromptFile {
  const source = parseYaml(yaml, file);
  const raw = validate<RawPromptFile>(promptFile, source);
  const planned = (list: List): PlannedPrompt[] =>
    raw[list].map((item, index) => {
      const where = source.where([list, index, 'from']);
      const text = item.text ?? drawnWords(readText(item.from ?? '', where), item.at ?? 0, item.words ?? 0);
      if (text === undefined) throw new UserError(`${item.from} has no words`, { where });
      return { id: idOf(list, index, item), text };
    });
  return { summary: raw.summary, prompts: planned('prompts'), warmup: planned('warmup') };
}
