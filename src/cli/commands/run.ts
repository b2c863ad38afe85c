// rota run FILE: prints the plan, measures it, prints the verdict.
import { readFileSync } from 'node:fs';
import { Command } from '@commander-js/extra-typings';
import { loadProtocol } from '../../schema/load.ts';
import type { Context } from '../context.ts';
import { measure } from '../measure.ts';

export function runCommand(context: Context) {
  return new Command('run')
    .description('measure what a protocol file says, and print the verdict')
    .argument('<protocol>', 'a protocol file')
    .option('--plan', 'print the plan and stop')
    .option('--smoke', 'only start every arm for 16 tokens, and stop')
    .option('--share-machine', 'although another rota measures on this machine')
    .option('--json', 'the verdict (or the plan) as JSON')
    .option('--ascii', 'a table without line-drawing characters')
    .addHelpText('after', '\nExample:\n  rota run protocols/first-light.yaml --plan')
    .action(async (file, options) => {
      const complete = loadProtocol(file, context.engines);
      const text = readFileSync(file, 'utf8');
      await measure(context, { complete, text, command: `rota run ${file}` }, options);
    });
}
