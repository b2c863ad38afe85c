// A verdict as Markdown, for a pull request or a note. The same cells as in the terminal.

import type { Plan } from '../core/records/plan.ts';
import type { Verdict } from '../core/records/verdict.ts';
import { calibrationText } from '../core/verdict/calibration.ts';
import { type Column, costColumns, outputColumns, speedColumns, workColumns } from './columns.ts';
import {
  backgroundTexts,
  boundLines,
  componentText,
  decisionTexts,
  legend,
  namedLines,
  summary,
} from './terminal.ts';

export function markdownReport(plan: Plan, verdict: Verdict): string {
  const parts = [
    `## ${escaped(plan.protocol)}`,
    summary(plan, verdict).map(escaped).join(' · '),
    table(speedColumns(), verdict),
    table(workColumns(verdict), verdict),
    costColumns(verdict).length === 0 ? '' : table(costColumns(verdict), verdict),
    outputColumns(verdict).length === 0 ? '' : table(outputColumns(verdict), verdict),
    namedLines(verdict)
      .map(({ name, line }) => `- **${escaped(name)}**: ${escaped(line)}`)
      .join('\n'),
    boundLines(verdict)
      .map(({ arm, line }) => `- what bounds **${escaped(arm)}**: ${escaped(line)}`)
      .join('\n'),
    escaped(componentText(verdict) ?? ''),
    backgroundTexts(verdict).map(escaped).join('\n\n'),
    verdict.calibration === undefined ? '' : escaped(calibrationText(verdict.calibration)),
    decisionTexts(verdict).map(escaped).join('\n\n'),
    verdict.warnings.map((text) => `> ${escaped(text)}`).join('\n>\n'),
    `<sub>${escaped(legend(verdict))}</sub>`,
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

function table(columns: readonly Column[], verdict: Verdict): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    line(columns.map((column) => escaped(column.head))),
    line(columns.map((column) => (column.align === 'right' ? '---:' : '---'))),
    ...verdict.arms.map((row) => line(columns.map((column) => escaped(column.cell(row))))),
  ].join('\n');
}

/** Names and reasons come from outside: they must not become markup or break a row. */
export function escaped(text: string): string {
  return text.replace(/[\\`*_{}[\]<>|#]/g, '\\$&').replace(/\s*\n\s*/g, ' ');
}
