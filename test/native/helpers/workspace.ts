// How every file of these tests opens: a folder of its own that is gone afterwards, and most often a synthetic model in it.

import { afterAll } from 'vitest';
import { synthesise, temporaryFolder } from './strata.ts';

export interface Workspace {
  readonly path: string;
}

/** Call it at the top of a file. */
export function workspace(): Workspace {
  const folder = temporaryFolder();
  afterAll(() => folder.remove());
  return folder;
}

/** The same with a model; `options` are words of rota-model synth. */
export function withModel(
  config: string,
  ...options: string[]
): { readonly folder: Workspace; readonly model: string } {
  const folder = workspace();
  return { folder, model: synthesise(folder.path, config, ...options) };
}
