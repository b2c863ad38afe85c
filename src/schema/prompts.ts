// A file of prompts of one content class: those that are measured, and others for warming up.

import { z } from 'zod';
import type { PlannedPrompt } from '../core/records/plan.ts';
import { validate } from './validate.ts';
import { parseYaml } from './yaml-source.ts';

export interface PromptFile {
  readonly summary: string;
  readonly prompts: readonly PlannedPrompt[];
  /** Never measured, and never the text of a measured prompt: that would measure a warm cache. */
  readonly warmup: readonly PlannedPrompt[];
}

interface RawPrompt {
  readonly id?: string;
  readonly text: string;
}

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
  text: z.string().min(1),
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
      for (const [index, item] of numbered(list, file[list]).entries()) {
        const issue = (key: string, message: string): void =>
          context.addIssue({ code: 'custom', path: [list, index, key], message });
        if (ids.has(item.id)) issue('id', `the id "${item.id}" is given twice`);
        if (texts.has(item.text.trim()))
          issue('text', 'the same text stands twice; a measured prompt must be new to the engine');
        ids.add(item.id);
        texts.add(item.text.trim());
      }
    }
  });

/** Prompts without an id are named by their place: p01, p02, …; those of the warm-up w01, w02, … */
function numbered(list: 'prompts' | 'warmup', items: readonly RawPrompt[]): PlannedPrompt[] {
  const letter = list === 'prompts' ? 'p' : 'w';
  return items.map((item, index) => ({
    id: item.id ?? `${letter}${String(index + 1).padStart(2, '0')}`,
    text: item.text,
  }));
}

export function parsePrompts(yaml: string, file: string): PromptFile {
  const raw = validate<RawPromptFile>(promptFile, parseYaml(yaml, file));
  return {
    summary: raw.summary,
    prompts: numbered('prompts', raw.prompts),
    warmup: numbered('warmup', raw.warmup),
  };
}
