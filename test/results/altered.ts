// A file of a record as a test alters it.

import { readFileSync, writeFileSync } from 'node:fs';

/** With other text until disposed of. */
export function altered(file: string, change: (text: string) => string): Disposable {
  const good = readFileSync(file);
  writeFileSync(file, change(good.toString('utf8')));
  return { [Symbol.dispose]: () => writeFileSync(file, good) };
}
