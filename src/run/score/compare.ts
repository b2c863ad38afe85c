// An arm's window beside the reference's: the sums that a score is made of. Reads two files of logits in step.

import { EngineError, UserError } from '../../core/errors.ts';
import type { WindowScore } from '../../core/records/score.ts';
import { divergence } from '../../core/score/distribution.ts';
import { openLogitsFile } from '../../engines/logits-file.ts';
import type { WindowAnswer } from './ask-window.ts';
import type { ReferenceWindow } from './subject.ts';

export interface WindowPlace {
  readonly class: string;
  readonly window: number;
  /** Rows before it are context: nobody is judged by them. */
  readonly context: number;
}

export async function compareWindow(
  place: WindowPlace,
  answer: WindowAnswer,
  reference: ReferenceWindow,
): Promise<WindowScore> {
  const { class: name, window, context } = place;
  const logprobs = answer.logprobs.slice(context);
  const top1 = answer.top1.slice(context);
  const theirs = reference.top1.slice(context);
  if (top1.length !== theirs.length || top1.length === 0) throw new Error('windows of other lengths');
  const both = answer.logits !== null && reference.logits !== null;
  return {
    class: name,
    window,
    places: logprobs.length,
    negLogLikelihood: -logprobs.reduce((sum, value) => sum + value, 0),
    sameTop1: top1.filter((id, i) => id === theirs[i]).length,
    divergence: both ? await sumOfDivergences(reference.logits, answer.logits, logprobs.length, place) : null,
    prefillSha256: answer.prefillSha256,
  };
}

async function sumOfDivergences(
  referenceFile: string,
  ownFile: string,
  places: number,
  { class: name, window }: WindowPlace,
): Promise<number> {
  await using theirs = await openLogitsFile(referenceFile);
  await using own = await openLogitsFile(ownFile);
  if (theirs.vocab !== own.vocab) {
    throw new UserError(`the reference has a vocabulary of ${theirs.vocab}, the arm one of ${own.vocab}`, {
      where: '--reference',
      hint: 'distributions over different words cannot be compared',
    });
  }
  if (theirs.rows !== places || own.rows !== places)
    throw new EngineError(`${own.rows} rows of logits for ${places} places`, { phase: 'score' });
  let sum = 0;
  for (let row = 0; row < places; row++) sum += divergence(await theirs.next(), await own.next());
  if (Number.isFinite(sum)) return sum;
  throw new EngineError(
    `its logits of ${name}, window ${window}, are no distribution: the divergence is ${sum}`,
    {
      phase: 'score',
    },
  );
}
