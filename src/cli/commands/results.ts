// rota results: the runs there are, newest last.
import { Command, Option } from '@commander-js/extra-typings';
import { histories, triedWithoutGain } from '../../core/history/history.ts';
import { allVerdicts, listRuns } from '../../results/list.ts';
import { countArgument } from '../arguments.ts';
import { columns } from '../columns.ts';
import type { Context } from '../context.ts';

export function resultsCommand(context: Context) {
  return new Command('results')
    .description('list the runs, newest last')
    .addOption(
      new Option('--history', 'the rates of each arm in the order of time, and where they changed').conflicts(
        ['tried', 'last'],
      ),
    )
    .addOption(
      new Option('--tried', 'what was tried without a gain, and what is still open').conflicts('last'),
    )
    .option('--json', 'as JSON')
    .option('-n, --last <count>', 'only the newest', countArgument)
    .addHelpText(
      'after',
      '\nExamples:\n  rota results --last 5\n  rota results --history\n  rota results --tried --json',
    )
    .action(({ json, last, history, tried }) => {
      if (history || tried) {
        const text = history ? historyText : triedText;
        context.print(text(context, json === true));
        return;
      }
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

function historyText({ results }: Context, json: boolean): string {
  const series = histories(allVerdicts(results));
  if (json) return `${JSON.stringify({ history: series }, null, 2)}\n`;
  if (series.length === 0) return 'no results yet\n';
  const rows = series.map(({ protocol, class: name, arm, points, changes }) => {
    const rates = points.map(({ tokPerSec }) => tokPerSec);
    const [least, most] = [Math.min(...rates), Math.max(...rates)];
    const told = changes.map(({ run, ratio }) => `${ratio.toFixed(3)}× from ${run}`);
    return [
      protocol,
      name,
      arm,
      `${points.length} runs`,
      `${least.toPrecision(4)}–${most.toPrecision(4)} tok/s`,
      `last ${rates.at(-1)?.toPrecision(4)}`,
      told.length === 0 ? 'no change found' : told.join('; '),
    ];
  });
  return columns(rows);
}

function triedText({ results }: Context, json: boolean): string {
  const all = triedWithoutGain(allVerdicts(results));
  if (json) return `${JSON.stringify({ tried: all }, null, 2)}\n`;
  if (all.length === 0) return 'nothing was tried without a gain\n';
  return columns(all.map(({ protocol, class: name, arm, line, run }) => [protocol, name, arm, line, run]));
}

function row(run: ReturnType<typeof listRuns>[number]): string[] {
  const done = `${run.runsOk ?? 'n/a'}/${run.runsPlanned ?? 'n/a'} runs`;
  return [run.folder.name, run.state, done, run.device ?? 'n/a', run.arms.join(' ')];
}
