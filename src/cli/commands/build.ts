// rota build [ENGINE...]: builds bundled engines; prints where they lie.
import { Command } from '@commander-js/extra-typings';
import { buildEngine } from '../../engines/build.ts';
import { interruptible } from '../../run/interrupts.ts';
import { engineNames, loadDescriptor } from '../../schema/load.ts';
import type { Context } from '../context.ts';
import { createLiveLine } from '../live-line.ts';

export function buildCommand(context: Context) {
  return new Command('build')
    .description('build bundled engines (all of them without a name)')
    .argument('[engine...]', 'names of engines')
    .option('--preset <name>', 'another preset of native/CMakePresets.json, such as cuda')
    .addHelpText('after', '\nExample:\n  rota build strata --preset cuda')
    .action(async (names, { preset }) => {
      const wanted = names.length > 0 ? names : engineNames(context.engines);
      const descriptors = wanted
        .map((name) => loadDescriptor(context.engines, name))
        .filter((descriptor) => names.length > 0 || descriptor.build !== undefined);
      const live = createLiveLine(context);
      for (const descriptor of descriptors) {
        try {
          const { binary, seconds } = await interruptible((signal) =>
            buildEngine({
              descriptor,
              root: context.root,
              preset,
              signal,
              onProgress: ({ step, line }) => live.show(`${descriptor.name}: ${step} ${line ?? ''}`),
            }),
          );
          live.clear();
          context.tell(`${descriptor.name}: built in ${seconds.toFixed(1)} s\n`);
          context.print(`${binary}\n`);
        } finally {
          live.clear();
        }
      }
    });
}
