#!/usr/bin/env node
// Starts the command line. Plain Node, because it must be able to say that nothing is built yet.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const main = new URL('../dist/cli/main.js', import.meta.url);
if (existsSync(fileURLToPath(main))) {
  await import(main.href);
} else {
  process.stderr.write('rota: not built yet; run: npm run build\n');
  process.exitCode = 3;
}
