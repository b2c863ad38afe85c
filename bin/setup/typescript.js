// Builds src/ into dist/ when a source changed. Owns the digest that decides that; knows nothing of the program.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { step } from './command.js';

export const STAMP = '.sources-sha256';

/**
 * Content, not times: a checkout or a copy changes times and no content.
 * @param {string} root
 */
export function sourcesDigest(root) {
  const hash = createHash('sha256');
  const sources = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
  for (const file of [...sources, join(root, 'tsconfig.json'), join(root, 'package-lock.json')]) {
    hash
      .update(`${file.slice(root.length)}\0`)
      .update(readFileSync(file))
      .update('\0');
  }
  return hash.digest('hex');
}

/** @param {string} root */
export function isBuilt(root) {
  const stamp = join(root, 'dist', STAMP);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === sourcesDigest(root);
}

/**
 * Built beside and then swapped in, so that a failed build leaves the last good one, and no file of a deleted source stays.
 * @param {string} root
 * @param {{logFolder: string, say: (line: string) => void}} options
 */
export async function ensureTypescript(root, { logFolder, say }) {
  const digest = sourcesDigest(root);
  if (isBuilt(root)) return;
  const fresh = join(root, 'dist.new');
  rmSync(fresh, { recursive: true, force: true });
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const argv = [process.execPath, tsc, '-p', 'src/tsconfig.json', '--noEmitOnError', '--outDir', fresh];
  await step('TypeScript', argv, { cwd: root, log: join(logFolder, 'setup-typescript.log'), say });
  writeFileSync(join(fresh, STAMP), digest);
  rmSync(join(root, 'dist'), { recursive: true, force: true });
  renameSync(fresh, join(root, 'dist'));
}
