// One line an arm over all classes, or the finding that there is none because the effect depends on content. Knows rates by block.

import type { Known } from '../known.ts';
import { holm } from '../stats/holm.ts';
import { interaction } from '../stats/interaction.ts';
import { logRates, overClasses, type RateTable } from './rates.ts';
import { FAMILY_ALPHA, judgeSpeed, type SpeedFinding, type SpeedRules } from './speed.ts';

export interface HeadlineFinding {
  /** The arm over all classes, each with the same weight. */
  readonly speed: SpeedFinding;
  /** Classes differ by the margin or more, and by more than chance. */
  readonly dependsOnContent: boolean;
  /** Of "the effect is the same in all classes"; null when it could not be tested. */
  readonly interactionP: Known;
  /** Smallest and largest effect of a class, as ratios, with the names of the classes. */
  readonly range: readonly [{ class: string; ratio: number }, { class: string; ratio: number }] | null;
}

/** Empty with a single class: its rows are the headline. The arms are one family here too, with an error of its own. */
export function headlines(tables: readonly RateTable[], rules: SpeedRules): HeadlineFinding[] {
  if (tables.length < 2) return [];
  const speeds = judgeSpeed([overClasses(tables)], rules);
  const logs = tables.map(logRates);
  const differences = speeds.map((_, index) => differencesOf(logs, index + 1));
  const tests = differences.map(interaction);
  const steps = holm(
    tests.map((test) => test?.p ?? 1),
    FAMILY_ALPHA,
  );
  return speeds.map((speed, index) => {
    const range = rangeOf(tables, differences[index] ?? []);
    const isWide = range !== null && range[1].ratio / range[0].ratio > 1 + rules.margin;
    return {
      speed,
      dependsOnContent: isWide && steps[index]?.rejected === true,
      interactionP: tests[index]?.p ?? null,
      range,
    };
  });
}

/** ln(arm / baseline), a block a row and a class a column; blocks that lack one are left out. */
function differencesOf(logs: readonly (readonly (readonly Known[])[])[], arm: number): number[][] {
  const blocks = logs[0]?.length ?? 0;
  return Array.from({ length: blocks }, (_, block) =>
    logs.flatMap((table) => {
      const [own, base] = [table[block]?.[arm] ?? null, table[block]?.[0] ?? null];
      return own === null || base === null ? [] : [own - base];
    }),
  ).filter((row) => row.length === logs.length);
}

function rangeOf(
  tables: readonly RateTable[],
  rows: readonly (readonly number[])[],
): HeadlineFinding['range'] {
  if (rows.length === 0) return null;
  const effects = tables
    .map((table, index) => ({
      class: table.class,
      ratio: Math.exp(rows.reduce((sum, row) => sum + (row[index] ?? 0), 0) / rows.length),
    }))
    .sort((a, b) => a.ratio - b.ratio);
  const [lowest, highest] = [effects[0], effects.at(-1)];
  return lowest === undefined || highest === undefined ? null : [lowest, highest];
}
