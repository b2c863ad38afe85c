// Lists the source files a check looks at. Owns what is never looked at; knows no check.
import { existsSync, readdirSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

const NEVER = new Set(['node_modules', 'dist', 'build', '.git', 'coverage']);

/**
 * Paths relative to root, with forward slashes, sorted.
 * @param {string} root
 * @param {readonly string[]} folders
 * @param {RegExp} name
 * @returns {string[]}
 */
export function listFiles(root, folders, name) {
  /** @type {string[]} */
  const found = [];
  /** @param {string} folder */
  const walk = (folder) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory() && !NEVER.has(entry.name)) walk(path);
      if (entry.isFile() && name.test(entry.name)) found.push(relative(root, path).split(sep).join('/'));
    }
  };
  for (const folder of folders) if (existsSync(join(root, folder))) walk(join(root, folder));
  return found.sort();
}
