// Scores of fixed texts in a made-up journal.

import type { JournalEvent } from '../../../src/core/records/journal.ts';
import type { Plan } from '../../../src/core/records/plan.ts';

/** What one fixed text scored; null: the engine cannot score. */
export interface Scored {
  readonly logprobs: readonly number[];
  readonly top1?: readonly number[];
  readonly logits?: string;
}

export interface ScoreOptions {
  readonly texts?: number;
  readonly score?: (at: { arm: string; block: number; class: string; text: number }) => Scored | null;
}

export function scoreEvents(
  plan: Plan,
  { id, arm, block }: Plan['runs'][number],
  options: ScoreOptions,
): JournalEvent[] {
  return plan.workloads.flatMap((workload) =>
    Array.from({ length: options.texts ?? 0 }, (_, text): JournalEvent[] => {
      const scored = options.score?.({ arm, block, class: workload.class, text }) ?? null;
      if (scored === null) return [];
      const { logprobs, logits } = scored;
      return [
        {
          type: 'score',
          utc: '2026-01-01T00:00:00.000Z',
          run: id,
          class: workload.class,
          prompt: `text-${text}`,
          tokens: logprobs.length + 1,
          logprobs,
          top1: scored.top1 ?? logprobs.map((_value, i) => i),
          logitsSha256: logits ?? null,
        },
      ];
    }).flat(),
  );
}
