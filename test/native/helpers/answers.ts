// What two prompts are answered under some knobs, and what of it an exact knob leaves alone.

import { type Done, generateOnce, type Json, promptOf, type Ready } from './strata.ts';

export interface Answers {
  readonly ready: Ready;
  readonly done: Done[];
}

export const bodies: Json[] = [
  { prompt: promptOf(40, 128), max_new: 24 },
  { prompt: promptOf(23, 128, 5), max_new: 20 },
];
export const COMMON = ['--ctx', '256', '--depth', '3', '--conf', '0', '--slots', '25%', '--arena', '25%'];

export function answersOf(model: string, ...knobs: string[]): Promise<Answers> {
  return generateOnce(['--model', model, ...COMMON, ...knobs], ...bodies);
}

/** Ids and the bits of the logits. A knob of speculation leaves these alone: which drafts are verified is what it is for. */
export function said({ done }: Answers): unknown {
  return done.map(({ ids, finish, digest }) => ({ ids, finish, digest }));
}

/** What every other exact knob leaves alone: passes and acceptance too. */
export function output({ done }: Answers): unknown {
  return done.map(({ ids, finish, digest, pass_tokens, counters }) => ({
    ids,
    finish,
    digest,
    pass_tokens,
    passes: counters.passes,
    accepted: counters.accepted,
  }));
}
