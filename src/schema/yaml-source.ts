// YAML text with the position of every key and value. Knows nothing of what the file means.

import { isAlias, isMap, isPair, isScalar, isSeq, LineCounter, type Node, parseDocument, visit } from 'yaml';
import { type Problem, throwProblems } from './problems.ts';

export type Path = readonly PropertyKey[];

export interface YamlSource {
  readonly file: string;
  readonly value: unknown;
  /** `file:line:column` of the value at a path (of its key with `part: 'key'`), or of the nearest node that exists above it. */
  where(path: Path, part?: 'key' | 'value'): string;
}

export const pathText = (path: Path): string => path.map(String).join('.');

/** Parses one YAML document. Syntax errors, duplicate keys and unknown tags are all told at once. */
export function parseYaml(text: string, file: string): YamlSource {
  const lines = new LineCounter();
  if (text.includes('\0')) throwProblems([{ where: file, path: '', message: 'is not a text file' }]);
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
  const at = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${Math.max(1, line)}:${Math.max(1, col)}`;
  };
  const syntax: Problem[] = [...document.errors, ...document.warnings].map((error) => ({
    where: at(error.pos[0]),
    path: '',
    message: error.code === 'DUPLICATE_KEY' ? duplicateKey(text, error.pos[0]) : error.message,
  }));
  visit(document, {
    // The key is an ordinary name in YAML and none in a JavaScript object: it would vanish without a word.
    Pair: (_, { key }) => {
      if (!isScalar(key) || key.value !== '__proto__') return;
      syntax.push({ where: at(startOf(key) ?? 0), path: '', message: 'the name "__proto__" cannot be used' });
    },
  });
  throwProblems(syntax);
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    // Aliases that unfold into millions of nodes: a mistake or an attack, in either case a bad file.
    throwProblems([
      { where: at(0), path: '', message: error instanceof Error ? error.message : String(error) },
    ]);
  }
  const resolve = (node: unknown): unknown => (isAlias(node) ? node.resolve(document) : node);
  return {
    file,
    value,
    where: (path, part = 'value') => at(offsetOf(document.contents, resolve, path, part)),
  };
}

function duplicateKey(text: string, offset: number): string {
  const key = /^[^\s:,{}]+/.exec(text.slice(offset))?.[0];
  return key === undefined ? 'a key is given twice' : `the key "${key}" is given twice`;
}

function offsetOf(
  root: unknown,
  resolve: (node: unknown) => unknown,
  path: Path,
  part: 'key' | 'value',
): number {
  let offset = startOf(root) ?? 0;
  let node = resolve(root);
  for (const [depth, segment] of path.entries()) {
    const isLast = depth === path.length - 1;
    let next: unknown;
    if (isMap(node)) {
      const pair = node.items.find(
        (item) => isPair(item) && isScalar(item.key) && String(item.key.value) === String(segment),
      );
      if (pair === undefined) return offset;
      // The key is where the eye looks when the value is empty or is a block on the next line.
      const wantsKey = (isLast && part === 'key') || !hasText(pair.value);
      offset = (wantsKey ? startOf(pair.key) : startOf(pair.value)) ?? startOf(pair.key) ?? offset;
      next = pair.value;
    } else if (isSeq(node)) {
      next = node.items[Number(segment)];
      if (next === undefined) return offset;
      offset = startOf(next) ?? offset;
    } else {
      return offset;
    }
    node = resolve(next);
  }
  return offset;
}

function hasText(node: unknown): boolean {
  return !(node === null || (isScalar(node) && node.value === null && (node.source ?? '') === ''));
}

function startOf(node: unknown): number | undefined {
  return (node as Node | null | undefined)?.range?.[0];
}
