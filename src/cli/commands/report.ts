// rota report [RUN]: shows a verdict again, or proves that it follows from its journal.
import { Command, Option } from '@commander-js/extra-typings';
import { UserError } from '../../core/errors.ts';
import { findRun } from '../../results/list.ts';
import { readPlan, readVerdict } from '../../results/read.ts';
import { recomputeVerdict } from '../../run/verdict-file.ts';
import type { Context } from '../context.ts';
import { printVerdict } from '../printing.ts';

export function reportCommand(context: Context) {
  return new Command('report')
    .description('show the verdict of a run')
    .argument('[run]', 'latest, or a run as rota results lists it', 'latest')
    .option('--recompute', 'make the verdict again from the journal; exit 5 when the record was altered')
    .addOption(new Option('--json', 'as JSON').conflicts('markdown'))
    .option('--markdown', 'as Markdown')
    .option('--ascii', 'a table without line-drawing characters')
    .addHelpText('after', '\nExample:\n  rota report latest --json')
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
      printVerdict(context, readPlan(folder), verdict, options);
      process.exitCode = verdict.exitCode;
    });
}
