// Keeps node_modules as package-lock.json says. Owns that comparison; knows nothing of what the packages are for.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { step } from './command.js';

/**
 * Why node_modules is not what the lock file asks for; undefined when it is. npm leaves its own lock file inside,
 * so a tree that was installed without the development packages, or by an older lock file, shows.
 * @param {string} root
 * @returns {string | undefined}
 */
export function nodeModulesProblem(root) {
  const wanted = readPackages(join(root, 'package-lock.json'));
  const present = readPackages(join(root, 'node_modules', '.package-lock.json'));
  if (wanted === undefined) return 'there is no package-lock.json';
  if (present === undefined) return 'there are none';
  for (const [path, entry] of Object.entries(wanted)) {
    if (path === '' || entry.link) continue;
    const installed = present[path];
    // Optional packages are for other systems, unless npm installed them.
    if (installed === undefined && entry.optional) continue;
    if (installed === undefined || !existsSync(join(root, path))) return `${path} is missing`;
    if (installed.version !== entry.version || installed.integrity !== entry.integrity) {
      return `${path} is ${installed.version}, not ${entry.version}`;
    }
  }
  return undefined;
}

/**
 * @param {string} file
 * @returns {Record<string, {version?: string, integrity?: string, optional?: boolean, link?: boolean}> | undefined}
 */
function readPackages(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

/**
 * @param {string} root
 * @param {{logFolder: string, say: (line: string) => void}} options
 */
export async function ensureNodeModules(root, { logFolder, say }) {
  const problem = nodeModulesProblem(root);
  if (problem === undefined) return;
  say(`installing npm packages (${problem}) ...`);
  const npm = process.env['npm_execpath'];
  const argv = npm?.endsWith('.js') ? [process.execPath, npm] : ['npm'];
  // The checks live in development packages: NODE_ENV=production must not leave them out.
  const flags = ['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund'];
  await step('npm packages', [...argv, ...flags], { cwd: root, log: join(logFolder, 'setup-npm.log'), say });
}
