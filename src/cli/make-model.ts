// A model that a command names, made first when Rota makes it: says what it does and how far it is. Owns no recipe.

import { ensureModel } from '../model/ensure-model.ts';
import { interruptible } from '../run/interrupts.ts';
import type { ProtocolModel } from '../schema/override.ts';
import { modelToolPath } from './commands/model.ts';
import type { Context } from './context.ts';
import { createLiveLine } from './live-line.ts';

/** Its path. Ctrl-C leaves nothing half made. */
export async function makeModel(context: Context, model: ProtocolModel): Promise<string> {
  const live = createLiveLine(context);
  return await interruptible((signal) =>
    ensureModel(model, {
      tool: modelToolPath(context.root),
      folder: context.models,
      root: context.root,
      signal,
      onProgress: (line) => context.tell(`${line}\n`),
      onStep: live.show,
    }),
  ).finally(live.clear);
}
