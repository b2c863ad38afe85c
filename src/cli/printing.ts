// Plans and verdicts in the form that was asked for. Owns the choice of the form; the forms are the report's.
import type { Plan } from '../core/records/plan.ts';
import type { Verdict } from '../core/records/verdict.ts';
import { stableJson } from '../core/stable-json.ts';
import { jsonReport } from '../report/json.ts';
import { markdownReport } from '../report/markdown.ts';
import type { Look } from '../report/paint.ts';
import { planReport } from '../report/plan.ts';
import { terminalReport } from '../report/terminal.ts';
import type { Prepared } from '../run/prepare.ts';
import type { Context } from './context.ts';

export interface ReportForm {
  readonly json?: true | undefined;
  readonly markdown?: true | undefined;
  readonly ascii?: true | undefined;
}

type Printer = Pick<Context, 'print' | 'colors' | 'columns'>;

export function printPlan(context: Printer, { plan, expectedSource }: Prepared, form: ReportForm): void {
  if (form.json) {
    context.print(`${stableJson(plan).trimEnd()}\n`);
    return;
  }
  const source = expectedSource === null ? '' : `expected time: ${expectedSource}\n`;
  context.print(`${planReport(plan, lookOf(context, form)).trimEnd()}\n${source}`);
}

export function printVerdict(context: Printer, plan: Plan, verdict: Verdict, form: ReportForm): void {
  const text = form.json
    ? jsonReport(verdict)
    : form.markdown
      ? markdownReport(plan, verdict)
      : terminalReport(plan, verdict, lookOf(context, form));
  context.print(`${text.trimEnd()}\n`);
}

export function lookOf({ colors, columns }: Printer, { ascii }: ReportForm): Look {
  return { paint: colors, ascii: ascii === true, width: Math.max(60, columns) };
}
