// A checkpoint as it is released, through the tool and the engine: the engine's first token is the training code's, and what stops
// a conversion leaves nothing behind.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { linkShipped, shipped } from '../model/helpers/shipped.ts';
import { suffering } from './helpers/faults.ts';
import { bin, generateOnce } from './helpers/strata.ts';
import { workspace } from './helpers/workspace.ts';

const folder = workspace();

/** int32 and float32 sections as numbers; native/model/golden/README.md has the layout. */
function goldenSections(file: string): readonly (readonly number[])[] {
  const bytes = readFileSync(file);
  const sections = [];
  for (let at = 8; at < bytes.length; ) {
    const isFloat = bytes.readUInt32LE(at) === 1;
    const count = bytes.readUInt32LE(at + 4);
    at += 8;
    const values = Array.from({ length: count }, (_, i) =>
      isFloat ? bytes.readFloatLE(at + 4 * i) : bytes.readInt32LE(at + 4 * i),
    );
    sections.push(values);
    at += 4 * count;
  }
  return sections;
}

function convert(from: string, out: string, env: Readonly<Record<string, string>> = {}) {
  const argv = ['convert', from, '--out', out];
  return spawnSync(path.join(bin, 'rota-model'), argv, {
    env: { ...process.env, ...env },
    encoding: 'utf8',
  });
}

function left(stem: string): readonly string[] {
  return readdirSync(folder.path).filter((name) => name.startsWith(stem));
}

test('the engine over a converted checkpoint goes on as the training code does', async () => {
  const out = path.join(folder.path, 'm.gguf');
  const { status, stdout, stderr } = convert(shipped, out);
  expect(status).toBe(0);
  expect(stdout).toBe(`${out}\n${out.replace('.gguf', '.dspark.gguf')}\n`);
  expect(stderr).toMatch(/: 34\.4 MB in [\d.]+ s, without loss; 11 tensors for images left out\n$/);
  const sections = goldenSections(path.join(shipped, 'golden.bin'));
  expect(sections.length).toBe(15);
  for (let prompt = 0; prompt < 3; prompt++) {
    const [ids, , draft] = sections.slice(prompt * 5);
    // From slots, arena and file at once; the caches' rounding off, as in the golden numbers.
    const knobs = ['--slots', '33%', '--arena', '33%', '--kv-quant', 'off'];
    const { done } = await generateOnce(['--model', out, '--ctx', '256', ...knobs], {
      prompt: ids,
      max_new: 1,
    });
    expect(done[0]?.ids[0]).toBe(draft?.[1]);
  }
});

test('a shard that is cut anywhere is refused in one line, and nothing is written', () => {
  const cut = path.join(folder.path, 'cut');
  const name = 'model-00003-of-00003.safetensors';
  linkShipped(cut, name);
  const shard = path.join(cut, name);
  const whole = readFileSync(path.join(shipped, name));
  writeFileSync(shard, whole);
  for (const bytes of [whole.length - 1, whole.length >> 1, 20_000, 4000, 8, 7, 0]) {
    truncateSync(shard, bytes);
    const { status, stderr } = convert(cut, path.join(folder.path, 'c.gguf'));
    expect(status).toBe(3);
    expect(stderr).toMatch(/^rota-model: [^\n]*model-00003-of-00003\.safetensors: [^\n]*\n$/);
  }
  expect(left('c.')).toEqual([]);
});

test.each([0, 5000, 4_000_000])('no room for %i bytes ends with 3, one line, and neither file', (room) => {
  const out = path.join(folder.path, `full-${room}.gguf`);
  const { status, signal, stderr } = convert(
    shipped,
    out,
    suffering(['write', { path: path.basename(out), room }]),
  );
  expect([status, signal]).toEqual([3, null]);
  expect(stderr).toMatch(/^rota-model: [^\n]*full-\d+\.gguf[^\n]*No space left on device[^\n]*\n$/);
  expect(left(`full-${room}.`)).toEqual([]);
});

/** Each is long enough at it that there is a half to be found: reads that take their time, or many weights. */
const WRITERS: readonly (readonly [string, readonly string[], Readonly<Record<string, string>>])[] = [
  ['convert', [shipped], suffering(['slow', { path: 'model-0000', ms: 5 }])],
  ['synth', ['--config', 'mini-m'], {}],
];

test.each(
  WRITERS.flatMap((writer) => (['SIGTERM', 'SIGINT'] as const).map((signal) => [...writer, signal] as const)),
)('%s %j %j: %s ends it, and leaves neither file', async (verb, words, more, signal) => {
  const out = path.join(folder.path, 'stopped.gguf');
  const env = { ...process.env, ...more };
  const running = spawn(path.join(bin, 'rota-model'), [verb, ...words, '--out', out], { env });
  const ended = once(running, 'exit');
  while (!existsSync(`${out}.tmp`) && running.exitCode === null) await new Promise(setImmediate);
  running.kill(signal);
  expect(await ended).toEqual([null, signal]);
  expect(left('stopped')).toEqual([]);
});
