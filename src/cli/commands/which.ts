// rota which ENGINE: prints the program that would be run.
import { existsSync } from 'node:fs';
import { Command } from '@commander-js/extra-typings';
import { EngineError } from '../../core/errors.ts';
import { binaryPath } from '../../engines/build.ts';
import { loadDescriptor } from '../../schema/load.ts';
import type { Context } from '../context.ts';

export function whichCommand(context: Context) {
  return new Command('which')
    .description('print the program of an engine')
    .argument('<engine>', 'name of an engine')
    .addHelpText('after', '\nExample:\n  rota which strata')
    .action((name) => {
      const descriptor = loadDescriptor(context.engines, name);
      const binary = binaryPath(descriptor, context.root);
      if (binary !== null && !existsSync(binary)) {
        const remedy = descriptor.build === undefined ? `there is no ${binary}` : `run: rota build ${name}`;
        throw new EngineError(`${name} is not built; ${remedy}`, { phase: 'build' });
      }
      context.print(`${binary ?? descriptor.command[0]}\n`);
    });
}
