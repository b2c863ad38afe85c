import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
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
import { bundledRecipe, synthRecipe } from '../../src/model/recipes.ts';
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
  const options = { tool: program, folder: folder(), root, onProgress: (line: string) => lines.push(line) };
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
  const old = { tool: tool(write), folder: folder(), root };
  const stale = await ensureModel({ synth: spec }, old);
  const kept = await ensureModel({ synth: other }, old);
  writeFileSync(join(folder(), 'mine.gguf'), '');
  const fresh = await ensureModel({ synth: spec }, { tool: tool(`${write}; true`), folder: folder(), root });
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
    await modelName(synthRecipe(spec), first),
    await modelName(synthRecipe({ ...spec, seed: 2 }), first),
    await modelName(synthRecipe({ ...spec, config: 'mini-xs' }), first),
    await modelName(synthRecipe({ config: 'mini-s', seed: 1 }), first),
    await modelName(synthRecipe(spec), tool('exit 1')),
  ]);
  expect(names.size).toBe(5);
  expect(await modelName(synthRecipe(spec), tool('exit 1'))).toBe(
    await modelName(synthRecipe({ ...spec }), tool('exit 1')),
  );
});

it('leaves no half-written model when the tool fails', async () => {
  const program = tool('echo half > "$OUT"; echo "disk full: asked 10 bytes" >&2; exit 3');
  const failed = ensureModel({ synth: spec }, { tool: program, folder: folder(), root });
  await expect(failed).rejects.toThrow(
    /rota-model synth --config mini-s --seed 1 failed: disk full: asked 10 bytes/,
  );
  await expect(failed).rejects.toBeInstanceOf(EngineError);
  expect(readdirSync(folder())).toEqual([]);
});

it('passes a usage error on as the user’s', async () => {
  const program = tool('echo "unknown configuration mini-z; known: mini-s" >&2; exit 2');
  const failed = ensureModel(
    { synth: { ...spec, config: 'mini-z' } },
    { tool: program, folder: folder(), root },
  );
  await expect(failed).rejects.toThrow(UserError);
  await expect(failed).rejects.toThrow('unknown configuration mini-z; known: mini-s');
});

it('does not believe a tool that ends well and writes nothing', async () => {
  const failed = ensureModel({ synth: spec }, { tool: tool('exit 0'), folder: folder(), root });
  await expect(failed).rejects.toThrow(/wrote no mini-s-seed1-/);
});

it('gives a path back, and says when it is not there or the tool is not built', async () => {
  const program = tool('exit 0');
  const options = { tool: program, folder: folder(), root };
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
  expect(await modelName(synthRecipe(words), program)).not.toBe(await modelName(synthRecipe(plain), program));
  const real = join(bin, 'rota-model');
  const path = await ensureModel({ synth: words }, { tool: real, folder: folder(), root });
  const shown = execFileSync(real, ['inspect', path], { encoding: 'utf8' });
  expect(shown).toMatch(/^mini-xs: /);
  expect(shown).toContain('\nfamily a\n');
});

it('makes a part of a model with a rank of its experts beside it', async () => {
  const real = join(bin, 'rota-model');
  const words = { config: 'mini-xs', seed: 1, layers: 2, hotExperts: 0.25, hotLookups: 0.8 };
  const path = await ensureModel({ synth: words }, { tool: real, folder: folder(), root });
  const { config } = JSON.parse(execFileSync(real, ['inspect', path, '--json'], { encoding: 'utf8' }));
  expect(config.layers).toBe(2);
  const [head, ...lines] = readFileSync(path.replace(/gguf$/, 'rank'), 'utf8').trimEnd().split('\n');
  expect(head).toContain('the order of the router');
  expect(new Set(lines.map((line) => line.split(' ')[0]))).toEqual(new Set(['0', '1']));
});

it('does not name a model by whether the memory was asked for room', async () => {
  const program = tool('exit 0');
  const asked = synthRecipe(spec);
  const unasked = synthRecipe({ ...spec, checkMemory: false });
  expect(await modelName(unasked, program)).toBe(await modelName(asked, program));
  expect([asked.argv.at(-1), ...unasked.argv.slice(-2)]).toEqual(['mixed', '--check-memory', 'off']);
});

/** A project folder with a bundled model's files. */
function project(weights: string, ids: string): string {
  const mini = join(root, 'native', 'models', 'mini');
  for (const part of ['checkpoint', 'calibration']) mkdirSync(join(mini, part), { recursive: true });
  writeFileSync(join(mini, 'checkpoint', 'model.safetensors'), weights);
  writeFileSync(join(mini, 'calibration', 'fit.ids'), ids);
  return root;
}

it('makes the bundled model anew when its weights or the text it is fitted on are others', async () => {
  const program = tool('echo "$0" main > "$OUT"');
  const nameOf = async (weights: string, ids: string, form?: 'teacher'): Promise<string> =>
    await modelName(
      bundledRecipe({ bundled: 'mini', ...(form === undefined ? {} : { form }) }, project(weights, ids)),
      program,
    );
  const names = [
    await nameOf('w', '1 2'),
    await nameOf('v', '1 2'),
    await nameOf('w', '1 3'),
    await nameOf('w', '1 2', 'teacher'),
  ];
  expect(new Set(names).size).toBe(4);
  expect(await nameOf('w', '1 2')).toBe(names[0]);
  // The teacher is fitted on nothing.
  expect(await nameOf('w', '1 3', 'teacher')).toBe(names[3]);
});

it('asks the tool for the bundled model in either form, and removes an older one of the same form alone', async () => {
  const log = 'echo "$ARGS" >> "$(dirname "$0")/calls"; echo main > "$OUT"';
  const program = tool(log);
  writeFileSync(program, readFileSync(program, 'utf8').replace('#!/bin/sh\n', '#!/bin/sh\nARGS="$*"\n'));
  const options = { tool: program, folder: folder(), root: project('w', '1 2') };
  const fewBit = await ensureModel({ bundled: 'mini' }, options);
  const teacher = await ensureModel({ bundled: 'mini', form: 'teacher' }, options);
  const mini = join(root, 'native', 'models', 'mini');
  const calls = readFileSync(join(root, 'calls'), 'utf8').split('\n');
  expect(calls[0]).toContain(
    `quantise ${mini}/checkpoint --text ${mini}/calibration/fit.ids --held-out ${mini}/calibration/held.ids --out `,
  );
  expect(calls[1]).toContain(`convert ${mini}/checkpoint --out `);
  project('v', '1 2');
  const next = await ensureModel({ bundled: 'mini' }, options);
  expect(readdirSync(folder()).sort()).toEqual([basename(next), basename(teacher)].sort());
  expect(existsSync(fewBit)).toBe(false);
});

it('says when the bundled weights are not there', async () => {
  const failed = ensureModel({ bundled: 'mini' }, { tool: tool('exit 0'), folder: folder(), root });
  await expect(failed).rejects.toThrow(/checkpoint: the bundled model is not there/);
});

it('shows how far the tool is, and keeps that out of what it says when it fails', async () => {
  const steps: string[] = [];
  const program = tool(
    'echo "$ROTA_PROGRESS" >&2; echo "round 1: 7 %, 90 s left" >&2; echo "no more room" >&2; echo "round 1: 8 %, 89 s left" >&2; exit 3',
  );
  const failed = ensureModel(
    { synth: spec },
    { tool: program, folder: folder(), root, onStep: (line) => steps.push(line) },
  );
  await expect(failed).rejects.toMatchObject({ logTail: ['lines', 'no more room'] });
  expect(steps).toEqual(['round 1: 7 %, 90 s left', 'round 1: 8 %, 89 s left']);
});
