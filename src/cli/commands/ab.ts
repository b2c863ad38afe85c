// rota ab ENGINE MODEL -a FLAGS -b FLAGS: two settings against each other, without a protocol file.
import { Command } from '@commander-js/extra-typings';
import { abProtocol } from '../ab-protocol.ts';
import { MODEL_WORDS, modelArgument, wholeArgument } from '../arguments.ts';
import type { Context } from '../context.ts';
import { measure } from '../measure.ts';

export function abCommand(context: Context) {
  return new Command('ab')
    .description('measure two settings of an engine against each other')
    .argument('<engine>', 'name of an engine')
    .argument('<model>', MODEL_WORDS)
    .requiredOption('-a <flags>', "the baseline's flags, as the engine has them; may be empty")
    .requiredOption('-b <flags>', 'the flags to compare')
    .option('--override-a <yaml>', "what else the baseline has of its own, as a protocol's override")
    .option('--override-b <yaml>', 'the same of the other: "model: x.gguf", "build: {ref: v0.1}", …')
    .option('--blocks <count>', 'how often both are run', wholeArgument(1, 1000), 4)
    .option('--max-new <count>', 'tokens of each answer', wholeArgument(2, 1_000_000), 64)
    .option('--plan', 'print the plan and stop')
    .option('--smoke', 'only start both for 16 tokens, and stop')
    .option('--share-machine', 'although another rota measures on this machine')
    .option('--json', 'the verdict (or the plan) as JSON')
    .option('--ascii', 'a table without line-drawing characters')
    .addHelpText(
      'after',
      '\nExamples:\n  rota ab strata synth:mini-s:1 -a "" -b "--threads 1" --blocks 6\n  rota ab strata m.gguf -a "" -b "" --override-b "build: {ref: v0.1}"',
    )
    .action(async (engine, model, options) => {
      const { complete, text } = abProtocol(context, {
        engine,
        model: modelArgument(model),
        flags: { A: options.a, B: options.b },
        overrides: { A: options.overrideA, B: options.overrideB },
        blocks: options.blocks,
        maxNew: options.maxNew,
      });
      const command = `rota ab ${engine} ${model} -a '${options.a}' -b '${options.b}'`;
      await measure(context, { complete, text, command }, options);
    });
}
