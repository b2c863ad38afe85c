// Writes the generated parts of docs/. usage: npm run docs
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundledEngines, knobTable, pageWith } from './knob-docs.js';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

for (const { name, knobs } of bundledEngines(root)) {
  const file = join(root, 'docs', `${name}.md`);
  const page = pageWith(readFileSync(file, 'utf8'), knobTable(knobs));
  if (page === undefined) throw new Error(`${file} has no place for the knobs`);
  writeFileSync(file, page);
}
