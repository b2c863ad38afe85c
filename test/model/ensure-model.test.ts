import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EngineError, UserError } from '../../src/core/errors.ts';
import { ensureModel, modelName } from '../../src/model/ensure-model.ts';
import { bin } from '../native/helpers/strata.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rota-ensure-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** A stand-in for rota-model: `body` is shell, $OUT is where the model belongs. */
function tool(body: string): string {
  const path = join(root, 'rota-model');
  writeFileSync(path, `#!/bin/sh\nwhile [ $# -gt 0 ]; do [ "$1" = --out ] && OUT=$2; shift; done\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

const folder = (): string => join(root, 'models');
const spec = { config: 'mini-s', seed: 1, expertFormat: 'mixed' };

it('writes a model once, with its sidecar, and leaves nothing else', async () => {
  const program = tool(
    'echo x >> "$(dirname "$0")/calls"; echo main > "$OUT"; echo side > "$(dirname "$OUT")/$(basename "$OUT" .gguf).dspark.gguf"',
  );
  const lines: string[] = [];
  const options = { tool: program, folder: folder(), onProgress: (line: string) => lines.push(line) };
  const path = await ensureModel({ synth: spec }, options);
  expect(await ensureModel({ synth: spec }, options)).toBe(path);
  expect(readFileSync(path, 'utf8')).toBe('main\n');
  const stem = basename(path, '.gguf');
  expect(readdirSync(folder()).sort()).toEqual([`${stem}.dspark.gguf`, `${stem}.gguf`]);
  expect(readFileSync(join(root, 'calls'), 'utf8')).toBe('x\n');
  expect(lines).toEqual([`writing the synthetic model ${stem}.gguf`]);
});

it('removes what an older tool wrote for the same words, and nothing else', async () => {
  const write = 'echo main > "$OUT"; echo side > "$(dirname "$OUT")/$(basename "$OUT" .gguf).dspark.gguf"';
  const other = { config: 'mini-s', seed: 1 };
  const old = { tool: tool(write), folder: folder() };
  const stale = await ensureModel({ synth: spec }, old);
  const kept = await ensureModel({ synth: other }, old);
  writeFileSync(join(folder(), 'mine.gguf'), '');
  const fresh = await ensureModel({ synth: spec }, { tool: tool(`${write}; true`), folder: folder() });
  expect(existsSync(stale)).toBe(false);
  expect(
    readdirSync(folder())
      .filter((name) => !name.includes('.dspark'))
      .sort(),
  ).toEqual([basename(fresh), basename(kept), 'mine.gguf'].sort());
  expect(readdirSync(folder())).toHaveLength(5);
});

it('names a model by config, seed, options and tool', async () => {
  const first = tool('exit 0');
  const names = new Set([
    await modelName(spec, first),
    await modelName({ ...spec, seed: 2 }, first),
    await modelName({ ...spec, config: 'mini-xs' }, first),
    await modelName({ config: 'mini-s', seed: 1 }, first),
    await modelName(spec, tool('exit 1')),
  ]);
  expect(names.size).toBe(5);
  expect(await modelName(spec, tool('exit 1'))).toBe(await modelName({ ...spec }, tool('exit 1')));
});

it('leaves no half-written model when the tool fails', async () => {
  const program = tool('echo half > "$OUT"; echo "disk full: asked 10 bytes" >&2; exit 3');
  const failed = ensureModel({ synth: spec }, { tool: program, folder: folder() });
  await expect(failed).rejects.toThrow(
    /rota-model synth --config mini-s --seed 1 failed: disk full: asked 10 bytes/,
  );
  await expect(failed).rejects.toBeInstanceOf(EngineError);
  expect(readdirSync(folder())).toEqual([]);
});

it('passes a usage error on as the user’s', async () => {
  const program = tool('echo "unknown configuration mini-z; known: mini-s" >&2; exit 2');
  const failed = ensureModel({ synth: { ...spec, config: 'mini-z' } }, { tool: program, folder: folder() });
  await expect(failed).rejects.toThrow(UserError);
  await expect(failed).rejects.toThrow('unknown configuration mini-z; known: mini-s');
});

it('does not believe a tool that ends well and writes nothing', async () => {
  const failed = ensureModel({ synth: spec }, { tool: tool('exit 0'), folder: folder() });
  await expect(failed).rejects.toThrow(/wrote no mini-s-seed1-/);
});

it('gives a path back, and says when it is not there or the tool is not built', async () => {
  const program = tool('exit 0');
  const options = { tool: program, folder: folder() };
  expect(await ensureModel({ path: program }, options)).toBe(program);
  expect(existsSync(folder())).toBe(false);
  await expect(ensureModel({ path: join(root, 'none.gguf') }, options)).rejects.toThrow('no such model');
  await expect(ensureModel({ synth: spec }, { ...options, tool: join(root, 'none') })).rejects.toThrow(
    'rota-model is not built',
  );
});

it('passes on each word of the model, and each has a file of its own', async () => {
  const program = tool('echo main > "$OUT"');
  const words = {
    config: 'mini-xs',
    seed: 3,
    expertFormat: 'mxfp4',
    denseFormat: 'f16',
    layout: 'a',
  } as const;
  const { layout: _, ...plain } = words;
  expect(await modelName(words, program)).not.toBe(await modelName(plain, program));
  const real = join(bin, 'rota-model');
  const path = await ensureModel({ synth: words }, { tool: real, folder: folder() });
  const shown = execFileSync(real, ['inspect', path], { encoding: 'utf8' });
  expect(shown).toMatch(/^mini-xs: /);
  expect(shown).toContain('\nfamily a\n');
});
