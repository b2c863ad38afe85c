// Formats the C++ tree in place: the other half of `npm run format`. Owns nothing but the writing.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format } from '@wasm-fmt/clang-format';
import { listFiles } from './files.js';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const style = readFileSync(join(root, '.clang-format'), 'utf8');
for (const file of listFiles(root, ['native'], /\.(cc|cpp|h|cuh?)$/)) {
  const text = readFileSync(join(root, file), 'utf8');
  const formatted = format(text, file, style);
  if (formatted !== text) writeFileSync(join(root, file), formatted);
}
