#!/usr/bin/env node
// Makes a fresh clone ready: Debian packages, npm packages, dist/, the native engine. Plain Node, because it runs before
// anything is installed. Owns the order of the steps; says nothing when there is nothing to do.
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureBrowser } from './setup/browser.js';
import { SetupError } from './setup/command.js';
import { ensureNative } from './setup/native.js';
import { ensureNodeModules } from './setup/node-modules.js';
import { ensurePackages, missingForFuzz, missingPackages, thisMachine } from './setup/packages.js';
import { DEMO_TARGETS } from './setup/targets.js';
import { ensureTypescript } from './setup/typescript.js';

const USAGE =
  'usage: node bin/setup.js demo|test|fuzz   demo: what `rota run` needs; test: everything, the native tests too; fuzz: clang, and nothing built';
const EXIT_USAGE = 2;
const EXIT_NOT_READY = 3;

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const logFolder = join(root, 'native', 'build');

/** @param {string} line */
function say(line) {
  clearProgress();
  process.stderr.write(`set-up: ${line}\n`);
}

let hasProgress = false;

/** @param {string} line */
function progress(line) {
  if (!process.stderr.isTTY) return;
  process.stderr.write(
    `\r\u001b[2Kset-up: ${line.slice(0, Math.max(20, (process.stderr.columns ?? 80) - 12))}`,
  );
  hasProgress = true;
}

function clearProgress() {
  if (hasProgress) process.stderr.write('\r\u001b[2K');
  hasProgress = false;
}

/** @param {string} version */
function checkNode(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 10)) return;
  throw new SetupError(`Node ${version} is too old: Rota needs Node 20.10 or newer`);
}

/** @param {string | undefined} mode */
async function main(mode) {
  if (mode !== 'demo' && mode !== 'test' && mode !== 'fuzz') {
    process.stderr.write(`${USAGE}\n`);
    return EXIT_USAGE;
  }
  checkNode(process.versions.node);
  mkdirSync(logFolder, { recursive: true });
  const lacks = mode === 'fuzz' ? missingForFuzz : missingPackages;
  await ensurePackages(thisMachine, { env: process.env, logFolder, say, lacks });
  if (mode === 'test') await ensureBrowser(thisMachine, { env: process.env, logFolder, say });
  await ensureNodeModules(root, { logFolder, say });
  if (mode === 'fuzz') return 0;
  await ensureTypescript(root, { logFolder, say });
  const targets = mode === 'demo' ? DEMO_TARGETS : [];
  await ensureNative(root, { targets, logFolder, say, progress, env: process.env });
  clearProgress();
  return 0;
}

try {
  process.exitCode = await main(process.argv[2]);
} catch (error) {
  clearProgress();
  if (!(error instanceof SetupError)) throw error;
  process.stderr.write(`set-up: ${error.message}\n`);
  process.exitCode = EXIT_NOT_READY;
}
