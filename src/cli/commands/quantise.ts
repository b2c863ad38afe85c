// rota quantise: text becomes token ids by the model's own tokenizer, the native tool does the rest; its flags and exit codes are
// passed through.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { tokenLines } from '../../model/token-lines.ts';
import { openTokenizer } from '../../model/tokenizer.ts';
import { countArgument } from '../arguments.ts';
import type { Context } from '../context.ts';
import { prepareCheckpoint, runModelTool } from './model.ts';

const HELP = `
MODEL is a folder of safetensors as released, or a GGUF. TEXT is plain text (one document a file), FILE.jsonl ({"text": "..."}, a
document a line), or FILE.ids (token ids, a sequence a line). A run that was stopped goes on when it is started again.

Example:
  rota quantise checkpoint/ --text prose.jsonl code.jsonl --out model.gguf`;

export function quantiseCommand(context: Context) {
  return new Command('quantise')
    .description("fit a model's experts to few bits on text, each in its own format")
    .argument('<model>', 'a folder of safetensors, or a GGUF')
    .requiredOption('--text <files...>', 'what is fitted on')
    .option('--held-out <files...>', 'what is only measured on (default: every fourth document of --text)')
    .requiredOption('--out <file>', 'STEM.gguf; STEM.dspark.gguf and STEM.quantise.json come beside it')
    .option('--window <tokens>', 'tokens of a piece of text (default: 512)', countArgument)
    .option('--threads <n>', 'threads (default: all cores); changes no bit', countArgument)
    .option('--engram-tables <on|off>', 'off: leave the Engram tables out')
    .option('--report <file>', 'where the measurements go, as JSON')
    .addHelpText('after', HELP)
    .action(async (model, options) => {
      prepareCheckpoint(context, model);
      const scratch = await mkdtemp(join(tmpdir(), 'rota-ids-'));
      try {
        const ids = (files: readonly string[], part: string) => asIds(model, files, join(scratch, part));
        const heldOut = options.heldOut === undefined ? [] : await ids(options.heldOut, 'held-out');
        const argv = [
          ...['quantise', model, '--out', options.out, '--text', ...(await ids(options.text, 'text'))],
          ...(heldOut.length === 0 ? [] : ['--held-out', ...heldOut]),
          ...flag('--window', options.window),
          ...flag('--threads', options.threads),
          ...flag('--engram-tables', options.engramTables),
          ...flag('--report', options.report),
        ];
        await runModelTool(context.root, argv);
      } finally {
        await rm(scratch, { recursive: true, force: true });
      }
    });
}

function flag(name: string, value: string | number | undefined): readonly string[] {
  return value === undefined ? [] : [name, String(value)];
}

/** Files of ids as they are, others tokenized into the scratch folder. */
async function asIds(model: string, files: readonly string[], scratch: string): Promise<readonly string[]> {
  if (files.every((file) => file.endsWith('.ids'))) return files;
  const tokenizer = await openTokenizer(model);
  const out: string[] = [];
  for (const [index, file] of files.entries()) {
    if (file.endsWith('.ids')) {
      out.push(file);
      continue;
    }
    const path = `${scratch}-${index}-${basename(file)}.ids`;
    await writeFile(path, tokenLines(file, tokenizer));
    out.push(path);
  }
  return out;
}
