// A gate's finding as a person reads it, and as Markdown. Owns the last line, which machines read.

import { checkName, type GateCheck, type GateFinding } from '../../core/gate/gate.ts';
import { percent } from '../../core/verdict/lines.ts';
import { escaped } from '../markdown.ts';
import { inLook, type Look } from '../paint.ts';
import { drawTable } from '../table.ts';

const COLUMNS = [
  { head: 'arm', align: 'left' },
  { head: 'class', align: 'left' },
  { head: 'rule', align: 'left' },
  { head: 'outcome', align: 'left' },
  { head: 'found', align: 'left' },
] as const;

/** `VERDICT fail exit=1 margin=2% run=… baseline=…: reason`, on one line whatever the reason holds. */
export function gateLine({ outcome, exitCode, margin, run, baseline, reason }: GateFinding): string {
  const words = `VERDICT ${outcome} exit=${exitCode} margin=${percent(margin).replace(' ', '')} run=${run} baseline=${baseline}`;
  return `${words}: ${reason}`.replace(/\s*[\r\n]+\s*/g, ' ');
}

export function gateReport(finding: GateFinding, look: Look): string {
  const title = `${look.paint.bold(finding.run)} against ${finding.baseline}`;
  const rows = finding.checks.map((check) => [
    check.arm,
    check.class ?? '',
    check.rule,
    check.outcome,
    check.text,
  ]);
  const table = rows.length === 0 ? [] : [drawTable(COLUMNS, rows)];
  const subject = finding.subject === undefined ? [] : [finding.subject];
  return `${inLook([title, ...subject, ...table, gateLine(finding)].join('\n\n'), look)}\n`;
}

/** Failures first: a summary may be cut. */
export function gateMarkdown(finding: GateFinding): string {
  const order = ['fail', 'missing', 'inconclusive', 'allowed', 'unknown', 'pass'];
  const sorted = [...finding.checks].sort((a, b) => order.indexOf(a.outcome) - order.indexOf(b.outcome));
  const row = (check: GateCheck): string =>
    `| ${escaped(checkName(check))} | ${check.outcome} | ${escaped(check.text)} |`;
  return [
    `## rota gate: ${finding.outcome}`,
    '',
    escaped(finding.reason),
    '',
    `run \`${finding.run}\` against \`${finding.baseline}\`, margin ${percent(finding.margin)}`,
    '',
    ...(finding.subject === undefined ? [] : [escaped(finding.subject), '']),
    ...(sorted.length === 0
      ? []
      : ['| check | outcome | found |', '| --- | --- | --- |', ...sorted.map(row), '']),
    `\`${gateLine(finding).replaceAll('`', "'")}\``,
    '',
  ].join('\n');
}
