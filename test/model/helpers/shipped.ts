// The bundled model's checkpoint, for tests that need it and for those that take something out of it.

import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';

export const shipped = path.resolve(import.meta.dirname, '../../../native/models/mini/checkpoint');

/** Makes the folder, with links to all of its files but one. */
export function linkShipped(folder: string, without: string): void {
  mkdirSync(folder);
  for (const name of readdirSync(shipped))
    if (name !== without) symlinkSync(path.join(shipped, name), path.join(folder, name));
}
