// The journal and other text of a run as a test reads and alters it, sealed or not.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { pack, readText, sealedName } from '../../src/results/sealed.ts';

/** Empty where there is none. */
export const textOf = (file: string): string => (readText(file) ?? Buffer.alloc(0)).toString('utf8');

/** In the form that it has. */
export function rewrite(file: string, text: string): void {
  const sealed = sealedName(file);
  if (existsSync(file) || !existsSync(sealed)) writeFileSync(file, text);
  else writeFileSync(sealed, pack(Buffer.from(text)));
}

/** With other text until disposed of. */
export function altered(file: string, change: (text: string) => string): Disposable {
  const form = existsSync(file) ? file : sealedName(file);
  const good = readFileSync(form);
  rewrite(file, change(textOf(file)));
  return { [Symbol.dispose]: () => writeFileSync(form, good) };
}
