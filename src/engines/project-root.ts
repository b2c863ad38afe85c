// Owns where Rota's own files lie: bin/, engines/, native/. The same from the sources, from dist/ and from a bundle.

import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

function isRoot(folder: string): boolean {
  const manifest = path.join(folder, 'package.json');
  return existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).name === 'rota';
}

export function findProjectRoot(from: string = fileURLToPath(import.meta.url)): string {
  const folder = path.dirname(from);
  if (isRoot(folder)) return folder;
  if (folder === from) throw new Error(`no package.json of rota above ${fileURLToPath(import.meta.url)}`);
  return findProjectRoot(folder);
}
