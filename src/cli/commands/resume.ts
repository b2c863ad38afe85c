// rota resume [RUN]: does what an interrupted or killed run still misses.
import { Command } from '@commander-js/extra-typings';
import { findRun } from '../../results/list.ts';
import type { Context } from '../context.ts';
import { runFolderSession } from '../measure.ts';

export function resumeCommand(context: Context) {
  return new Command('resume')
    .description('finish an interrupted run; a run that was not finished is repeated whole')
    .argument('[run]', 'latest, or a run as rota results lists it', 'latest')
    .option('--share-machine', 'although another rota measures on this machine')
    .option('--json', 'the verdict (of rota aa: the certificate) as JSON')
    .option('--ascii', 'a table without line-drawing characters')
    .addHelpText('after', '\nExample:\n  rota resume latest')
    .action(async (word, options) => {
      const folder = findRun(context.results, word);
      const command = `rota resume ${folder.name}`;
      await runFolderSession(context, folder, { command, resumed: true }, options);
    });
}
