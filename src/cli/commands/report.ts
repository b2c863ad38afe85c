// rota report [RUN]: shows a verdict again, or proves that it follows from its journal.
import { join, resolve } from 'node:path';
import { Command, Option } from '@commander-js/extra-typings';
import { UserError } from '../../core/errors.ts';
import type { Verdict } from '../../core/records/verdict.ts';
import { htmlReport } from '../../report/html/page.ts';
import { findRun } from '../../results/list.ts';
import { readPlan, readRun, readVerdict } from '../../results/read.ts';
import type { RunFolder } from '../../results/run-folder.ts';
import { recomputeVerdict } from '../../run/verdict-file.ts';
import type { Context } from '../context.ts';
import { printVerdict } from '../printing.ts';
import { writeNamed } from '../write-named.ts';

export function reportCommand(context: Context) {
  return new Command('report')
    .description('show the verdict of a run')
    .argument('[run]', 'latest, or a run as rota results lists it', 'latest')
    .option('--recompute', 'make the verdict again from the journal; exit 5 when the record was altered')
    .addOption(new Option('--json', 'as JSON').conflicts('markdown'))
    .option('--markdown', 'as Markdown')
    .addOption(
      new Option('--html [file]', 'as one self-contained page: into the run folder, or this file').conflicts([
        'json',
        'markdown',
      ]),
    )
    .option('--ascii', 'a table without line-drawing characters')
    .addHelpText('after', '\nExamples:\n  rota report latest --json\n  rota report latest --html')
    .action((word, options) => {
      const folder = findRun(context.results, word);
      context.runFolder = folder.path;
      const verdict = options.recompute ? recomputeVerdict(folder) : readVerdict(folder);
      if (verdict === null) {
        throw new UserError('has no verdict yet', {
          where: folder.path,
          hint: `finish it with: rota resume ${folder.name}`,
        });
      }
      if (options.html === undefined) printVerdict(context, readPlan(folder), verdict, options);
      else context.print(`${writePage(folder, verdict, options.html)}\n`);
      process.exitCode = verdict.exitCode;
    });
}

/** Gives the path of the page. */
function writePage(folder: RunFolder, verdict: Verdict, file: string | boolean): string {
  const { plan, journal } = readRun(folder);
  const target = typeof file === 'string' ? resolve(file) : join(folder.path, 'report.html');
  writeNamed(target, htmlReport(plan, verdict, journal.events));
  return target;
}
