// rota gate RUN --against BASELINE: a run may not be slower than a stored one, nor say something else. Its exit code is the answer.
import { appendFileSync, statSync } from 'node:fs';
import { Command, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import {
  type Allowed,
  EXACT_RULES,
  type ExactRule,
  type GateFinding,
  judgeGate,
} from '../../core/gate/gate.ts';
import { type GateSide, gateSide } from '../../core/gate/subject.ts';
import { stableJson } from '../../core/stable-json.ts';
import { annotation, stepSummary } from '../../report/gate/github.ts';
import { gateJunit } from '../../report/gate/junit.ts';
import { gateMarkdown, gateReport } from '../../report/gate/text.ts';
import { findRun } from '../../results/list.ts';
import { deriveRecord } from '../../run/verdict-file.ts';
import type { Context } from '../context.ts';
import { lookOf } from '../printing.ts';
import { writeNamed } from '../write-named.ts';

export function gateCommand(context: Context) {
  return new Command('gate')
    .description('hold a run against a stored one: exit 0 pass, 1 slower or changed, 4 inconclusive')
    .argument('<run>', 'latest, or a run as rota results lists it')
    .requiredOption('--against <baseline>', 'the run that it may not be worse than')
    .option('--margin <share>', 'how much slower is still as fast, such as 2%', marginArgument)
    .option(
      '--allow <rule[=share]>',
      `an exact rule that may be missed: ${EXACT_RULES.join(', ')}`,
      allowArgument,
      {},
    )
    .option('--junit <file>', 'write JUnit XML into this file')
    .addOption(new Option('--json', 'as JSON').conflicts('markdown'))
    .option('--markdown', 'as Markdown')
    .option('--ascii', 'a table without line-drawing characters')
    .addHelpText(
      'after',
      '\nOn GitHub an annotation and a step summary are written too.\n\nExample:\n  rota gate latest --against RUN --margin 2% --junit gate.xml\nRUN is one that rota results lists, or a path.',
    )
    .action((word, options) => {
      const run = sideOf(context, word);
      const finding = judgeGate({
        run,
        baseline: sideOf(context, options.against),
        margin: options.margin ?? run.plan.margin,
        allow: options.allow,
      });
      if (options.junit !== undefined) writeNamed(options.junit, gateJunit(finding));
      tellGithub(context, finding);
      const text = options.json
        ? stableJson(finding)
        : options.markdown
          ? gateMarkdown(finding)
          : gateReport(finding, lookOf(context, options));
      context.print(`${text.trimEnd()}\n`);
      process.exitCode = finding.exitCode;
    });
}

/** From the journal alone: a verdict.json that was written by hand decides nothing. */
function sideOf(context: Context, word: string): GateSide {
  const folder = findRun(context.results, word);
  return gateSide({ name: folder.name, ...deriveRecord(folder) });
}

function shareOf(word: string): number {
  const match = /^(\d+(?:\.\d+)?)(%?)$/.exec(word.trim());
  const value = Number(match?.[1]) / (match?.[2] === '%' ? 100 : 1);
  return match === null || value >= 1 ? Number.NaN : value;
}

function marginArgument(word: string): number {
  const value = shareOf(word);
  if (value > 0) return value;
  throw new InvalidArgumentError('expected a share between 0 and 1, such as 2% or 0.02');
}

function allowArgument(word: string, before: Allowed): Allowed {
  const [name = '', limit] = word.split('=');
  const rule = EXACT_RULES.find((each): each is ExactRule => each === name);
  if (rule === undefined)
    throw new InvalidArgumentError(`"${name}" is no exact rule; valid: ${EXACT_RULES.join(', ')}`);
  const share = limit === undefined ? Number.POSITIVE_INFINITY : shareOf(limit);
  if (Number.isNaN(share)) throw new InvalidArgumentError('expected a share after "=", such as 2%');
  return { ...before, [rule]: share };
}

/** Workflow commands are read from stderr too, so that stdout stays what was asked for. */
function tellGithub(context: Context, finding: GateFinding): void {
  if (process.env['GITHUB_ACTIONS'] !== 'true') return;
  context.tell(`${annotation(finding)}\n`);
  const file = process.env['GITHUB_STEP_SUMMARY'];
  if (file === undefined || file === '') return;
  const used = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  appendFileSync(file, stepSummary(finding, used));
}
