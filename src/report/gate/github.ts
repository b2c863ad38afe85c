// A gate's finding for GitHub: one annotation, and a step summary that is never dropped for its size. Owns GitHub's limits.

import type { GateFinding } from '../../core/gate/gate.ts';
import { gateLine, gateMarkdown } from './text.ts';

/** Above 1 MiB in all steps' files GitHub drops the whole summary. */
export const SUMMARY_BYTES = 1024 * 1024;

/** One for each verdict: GitHub shows ten of a kind a step. */
export function annotation(finding: GateFinding): string {
  const kind = {
    pass: 'notice',
    fail: 'error',
    inconclusive: 'warning',
    unmeasured: 'error',
    invalid: 'error',
    refused: 'error',
  }[finding.outcome];
  return `::${kind} title=${property(`rota gate: ${finding.outcome}`)}::${message(gateLine(finding))}`;
}

const message = (text: string): string =>
  text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');

const property = (text: string): string => message(text).replaceAll(':', '%3A').replaceAll(',', '%2C');

/** `used`: bytes that the file holds already. Cut at a line, with a word about it; empty when there is no room even for that. */
export function stepSummary(finding: GateFinding, used: number, limit = SUMMARY_BYTES): string {
  const text = gateMarkdown(finding);
  const room = limit - used;
  if (Buffer.byteLength(text) <= room) return text;
  const end = `\n\n_cut: GitHub shows 1 MiB at most; the whole is in the output of the step_\n`;
  const left = room - Buffer.byteLength(end);
  if (left <= 0) return '';
  const lines: string[] = [];
  let size = 0;
  for (const line of text.split('\n')) {
    size += Buffer.byteLength(line) + 1;
    if (size > left) break;
    lines.push(line);
  }
  return `${lines.join('\n')}${end}`;
}
