// rota fit [RUN]: what a pass's time is made of, by the ledger, and whether the slopes agree with the links that were measured.
import { Command, Option } from '@commander-js/extra-typings';
import { deepRounded, stableJson } from '../../core/stable-json.ts';
import { fitReport } from '../../report/fit.ts';
import { findRun } from '../../results/list.ts';
import { fitRun } from '../../run/fit-run.ts';
import type { Context } from '../context.ts';
import { lookOf } from '../printing.ts';

export function fitCommand(context: Context) {
  return new Command('fit')
    .description('fit the time of a pass to its rows and misses, and hold the slopes against the links')
    .argument('[run]', 'latest, or a run as rota results lists it', 'latest')
    .addOption(
      new Option('--by <unit>', 'what a miss is counted by')
        .choices(['lookup', 'MB'] as const)
        .default('lookup' as const),
    )
    .option('--arm <name>', 'only this arm')
    .option('--class <name>', 'only passes of this class')
    .option('--json', 'as JSON')
    .option('--ascii', 'a table without line-drawing characters')
    .addHelpText('after', '\nExamples:\n  rota fit latest\n  rota fit latest --by MB --json')
    .action((word, { by, arm, class: name, json, ascii }) => {
      const folder = findRun(context.results, word);
      context.runFolder = folder.path;
      const found = fitRun(folder, { unit: by, arm, class: name });
      const text = json ? stableJson(deepRounded(found)) : fitReport(found, lookOf(context, { ascii }));
      context.print(`${text.trimEnd()}\n`);
    });
}
