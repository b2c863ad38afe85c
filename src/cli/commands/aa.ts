// rota aa ENGINE MODEL: identical arms, so that whatever they show is noise; kept as a certificate that later plans reckon with.
import { Command } from '@commander-js/extra-typings';
import { abProtocol } from '../ab-protocol.ts';
import { MODEL_WORDS, modelArgument, numberArgument, wholeArgument } from '../arguments.ts';
import type { Context } from '../context.ts';
import { measure } from '../measure.ts';

export function aaCommand(context: Context) {
  return new Command('aa')
    .description('measure an engine against itself: the noise of this machine, kept for later plans')
    .argument('<engine>', 'name of an engine')
    .argument('<model>', MODEL_WORDS)
    .option('-a <flags>', 'flags of both arms, as the engine has them', '')
    .option('--blocks <count>', 'how often both are run', wholeArgument(4, 1000), 8)
    .option('--max-new <count>', 'tokens of each answer', wholeArgument(2, 1_000_000), 64)
    .option(
      '--foreign-cpu <share>',
      'of all cores that others may use in a window, 0.1 without this: a block beside more is measured again, and left out if that is no help',
      numberArgument(0, 1),
    )
    .option('--plan', 'print the plan and stop')
    .option('--share-machine', 'although another rota measures on this machine')
    .option('--json', 'the certificate (or the plan) as JSON')
    .addHelpText('after', '\nExample:\n  rota aa strata synth:mini-s:1 --blocks 8')
    .action(async (engine, model, options) => {
      const { complete, text } = abProtocol(context, {
        name: `aa-${engine}`,
        engine,
        model: modelArgument(model),
        flags: { A: options.a, B: options.a },
        overrides: { A: undefined, B: undefined },
        blocks: options.blocks,
        maxNew: options.maxNew,
        foreignCpuShare: options.foreignCpu,
      });
      const command = `rota aa ${engine} ${model} -a '${options.a}'`;
      await measure(context, { complete, text, command, equalArms: true }, options);
    });
}
