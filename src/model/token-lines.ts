// Text files as token ids, a sequence a line: what rota-model calibrates on. Owns which files are read how; knows no model but its
// tokenizer.
import { readFileSync } from 'node:fs';
import { UserError } from '../core/errors.ts';
import type { Tokenizer } from './tokenizer.ts';

/** FILE.jsonl has a document a line, `{"text": "…"}`; any other file is one document. Each is put between the model's own begin and end. */
export function tokenLines(path: string, tokenizer: Tokenizer): string {
  return documents(path)
    .map((text) => [...mark(tokenizer.bosId), ...tokenizer.encode(text), ...mark(tokenizer.eosId)].join(' '))
    .map((line) => `${line}\n`)
    .join('');
}

function mark(id: number | null): readonly number[] {
  return id === null ? [] : [id];
}

function documents(path: string): readonly string[] {
  const text = readFileSync(path, 'utf8');
  if (!path.endsWith('.jsonl')) return [text];
  return text
    .split('\n')
    .flatMap((line, index) => (line.trim() === '' ? [] : [documentOf(line, path, index + 1)]));
}

function documentOf(line: string, path: string, number: number): string {
  try {
    const parsed: unknown = JSON.parse(line);
    if (typeof parsed === 'object' && parsed !== null && 'text' in parsed && typeof parsed.text === 'string')
      return parsed.text;
  } catch {
    // Said below.
  }
  throw new UserError('is no document', {
    where: `${path}:${number}`,
    hint: 'write {"text": "..."}, one a line',
  });
}
