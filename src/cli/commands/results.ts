// rota results: the runs there are, newest last.
import { Command } from '@commander-js/extra-typings';
import { listRuns } from '../../results/list.ts';
import { countArgument } from '../arguments.ts';
import { columns } from '../columns.ts';
import type { Context } from '../context.ts';

export function resultsCommand(context: Context) {
  return new Command('results')
    .description('list the runs, newest last')
    .option('--json', 'as JSON')
    .option('-n, --last <count>', 'only the newest', countArgument)
    .addHelpText('after', '\nExample:\n  rota results --last 5')
    .action(({ json, last }) => {
      const all = listRuns(context.results);
      const runs = last === undefined ? all : all.slice(-last);
      if (json) {
        const listed = runs.map(({ folder, ...run }) => ({ id: folder.name, path: folder.path, ...run }));
        context.print(`${JSON.stringify({ results: listed }, null, 2)}\n`);
      } else {
        context.print(runs.length === 0 ? 'no results yet\n' : columns(runs.map(row)));
      }
    });
}

function row(run: ReturnType<typeof listRuns>[number]): string[] {
  const done = `${run.runsOk ?? 'n/a'}/${run.runsPlanned ?? 'n/a'} runs`;
  return [run.folder.name, run.state, done, run.device ?? 'n/a', run.arms.join(' ')];
}
