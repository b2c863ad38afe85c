// The file tier fails or changes under a running engine: the request that needed it says file and place, and the engine lives on.

import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { createSwitch, inTurns, suffering } from './helpers/faults.ts';
import { generateOnce, promptOf, Strata } from './helpers/strata.ts';
import { withModel } from './helpers/workspace.ts';

const { folder, model } = withModel('mini-xs');
const prompt = promptOf(20, 128);
/** Most experts stay in the file, and nothing is guessed ahead, so that every pass reads. */
const FILE_TIER = ['--slots', '10%', '--arena', '10%', '--lru-window', '0', '--prefetch', '0'];
const ask = { id: 90, op: 'generate', prompt, max_new: 24, ignore_eos: true };

/** Files that were written long ago, at a time that utimes can put back whole. */
const WRITTEN = new Date('2020-01-01T00:00:00Z');

const sidecarOf = (file: string): string => file.replace(/\.gguf$/, '.dspark.gguf');

/** A copy with its sidecar that a test may spoil. */
function ownModel(name: string): string {
  const copy = path.join(folder.path, `${name}.gguf`);
  copyFileSync(model, copy);
  const sidecar = sidecarOf(copy);
  copyFileSync(sidecarOf(model), sidecar);
  for (const file of [copy, sidecar]) utimesSync(file, WRITTEN, WRITTEN);
  return copy;
}

describe('a read error in mid-pass', () => {
  test.each([0, 5, 40])(
    'after %i good reads fails the request with file and offset; the next is as if it never was',
    async (skip) => {
      const { done } = await generateOnce(['--model', model, ...FILE_TIER], ask, ask);
      const now = createSwitch(folder.path);
      const env = suffering(['read', { path: 'mini-xs.gguf', when: now.file, skip }]);
      const { engine } = await Strata.start(['--model', model, ...FILE_TIER], env);
      await using _ = engine;
      now.on();
      engine.send(ask);
      const error = await engine.next('error');
      expect(error).toMatchObject({ id: 90, code: 'io' });
      expect(error['message']).toMatch(/mini-xs\.gguf: offset \d+: read failed: Input\/output error$/);
      now.off();
      const after = await engine.generate(ask);
      expect(after.ids).toEqual(done[0]?.ids);
      expect(after.digest).toEqual(done[0]?.digest);
      await engine.reset();
      const { counters } = await engine.generate(ask);
      expect(counters).toEqual(done[0]?.counters);
    },
  );

  test('with guesses ahead the engine lives too, whether the read that failed was a guess or not', async () => {
    const args = ['--model', model, '--slots', '10%', '--arena', '10%', '--prefetch', '4'];
    const { done } = await generateOnce(args, ask);
    const now = createSwitch(folder.path);
    const env = suffering(['read', { path: 'mini-xs.gguf', when: now.file, skip: 30, times: 40 }]);
    const { engine } = await Strata.start(args, env);
    await using _ = engine;
    now.on();
    engine.send(ask);
    expect(await engine.next('error')).toMatchObject({ id: 90, code: 'io' });
    now.off();
    // What was to be admitted when the read failed is not taken for admitted.
    for (let i = 0; i < 3; ++i) expect((await engine.generate(ask)).ids).toEqual(done[0]?.ids);
  });

  test('of an expert that was to enter a slot: it is not taken for there', async () => {
    const args = ['--model', model, '--slots', '10%', '--arena', '10%', '--prefetch', '0', '--depth', '0'];
    const { done } = await generateOnce(args, ask);
    const [good] = done;
    expect(good?.counters.admitted).toBeGreaterThan(20);
    const afterPrompt = good?.counters.prefill.distinct.file ?? 0;
    const turns = Array.from({ length: 12 }, (_, i) => afterPrompt + 100 + i);
    await inTurns(3, turns, async (skip) => {
      const now = createSwitch(folder.path, `now-${skip}`);
      const env = suffering(['read', { path: 'mini-xs.gguf', when: now.file, skip, times: 1 }]);
      const { engine } = await Strata.start([...args, '--file-readers', '1'], env);
      await using _ = engine;
      now.on();
      engine.send(ask);
      expect(await engine.next('error')).toMatchObject({ id: 90, code: 'io' });
      const after = await engine.generate(ask);
      expect([after.ids, after.digest]).toEqual([good?.ids, good?.digest]);
    });
  });

  test('during the load is exit 3 and one line', async () => {
    const env = suffering(['read', { path: 'mini-xs.gguf', skip: 3 }]);
    const { code, stderr } = await new Strata(['--model', model], env).exited;
    expect(code).toBe(3);
    expect(stderr).toMatch(
      /^rota-strata: [^\n]*mini-xs\.gguf: offset \d+: read failed: Input\/output error\n$/,
    );
  });

  test('a reset that cannot read fails, and the next one mends it', async () => {
    const args = ['--model', model, '--slots', '10%', '--arena', '20%', '--prefetch', '0'];
    const now = createSwitch(folder.path);
    const env = suffering(['read', { path: 'mini-xs.gguf', when: now.file }]);
    const { engine } = await Strata.start(args, env);
    await using _ = engine;
    const first = await engine.generate(ask);
    now.on();
    engine.send({ id: 91, op: 'reset' });
    expect(await engine.next('error')).toMatchObject({ id: 91, code: 'io' });
    now.off();
    engine.send(ask);
    const lost = 'experts were lost by a reset that failed; reset again';
    expect(await engine.next('error')).toMatchObject({ id: 90, code: 'io', message: lost });
    await engine.reset();
    expect((await engine.generate(ask)).counters).toEqual(first.counters);
  });

  test('slow reads change no token', async () => {
    const { done } = await generateOnce(['--model', model, ...FILE_TIER], { ...ask, max_new: 4 });
    const env = suffering(['slow', { path: 'mini-xs.gguf', ms: 2 }]);
    const { engine } = await Strata.start(['--model', model, ...FILE_TIER], env);
    await using _ = engine;
    expect((await engine.generate({ ...ask, max_new: 4 })).ids).toEqual(done[0]?.ids);
  });
});

/** One byte inside the experts, in place. */
function overwrite(file: string): void {
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, Buffer.from([0x55]), 0, 1, Math.floor(statSync(file).size * 0.9));
}

const CHANGES: readonly (readonly [string, (file: string) => void, RegExp])[] = [
  ['cut to nothing', (file) => truncateSync(file, 0), /had \d+ bytes and has 0/],
  [
    'cut in half',
    (file) => truncateSync(file, Math.floor(statSync(file).size / 2)),
    /had \d+ bytes and has \d+/,
  ],
  ['made longer', (file) => appendFileSync(file, 'x'), /had \d+ bytes and has \d+/],
  ['written to in place', overwrite, /it was written to; restart/],
  [
    'written to, and its time put back',
    (file) => {
      overwrite(file);
      utimesSync(file, WRITTEN, WRITTEN);
    },
    /it was written to, and its time was put back/,
  ],
  [
    'replaced by another file',
    (file) => {
      copyFileSync(file, `${file}.new`);
      renameSync(`${file}.new`, file);
    },
    /another file took its place/,
  ],
  ['removed', (file) => rmSync(file), /it is gone/],
];

describe('a shard that changes under us', () => {
  test.each(CHANGES.flatMap((change) => [['model', ...change] as const, ['sidecar', ...change] as const]))(
    'the %s, %s: the next request says so, and nothing dies',
    async (which, what, change, says) => {
      const own = ownModel(`own-${what.replaceAll(/\W+/g, '-')}-${which}`);
      const changed = which === 'model' ? own : sidecarOf(own);
      const { engine } = await Strata.start(['--model', own, ...FILE_TIER]);
      await using _ = engine;
      await engine.generate(ask);
      change(changed);
      for (const op of ['generate', 'generate', 'reset']) {
        engine.send(op === 'reset' ? { id: 91, op } : ask);
        const error = await engine.next('error');
        expect(error['code']).toBe('io');
        expect(error['message']).toContain(path.basename(changed));
        expect(error['message']).toMatch(says);
      }
      engine.send({ op: 'quit' });
      expect(await engine.exited).toMatchObject({ code: 0, signal: null });
    },
  );

  // With every expert in memory nothing is read but mapped pages, those of the Engram tables.
  const IN_MEMORY = ['--slots', '100%'];
  test.each([
    ['model', FILE_TIER, /own-mid\.gguf: changed since it was opened: it had/],
    ['model that is only mapped', IN_MEMORY, /own-mid\.gguf: changed since it was opened: it had/],
    ['sidecar', FILE_TIER, /own-mid\.dspark\.gguf: changed since it was opened: it had/],
  ])('the %s cut in the middle of a request: no answer from zeros, no death', async (which, tiers, says) => {
    const own = ownModel('own-mid');
    const { engine } = await Strata.start(['--model', own, ...tiers, '--ctx', '100000']);
    await using _ = engine;
    engine.send({ ...ask, max_new: 250, stream: true });
    while (!engine.events.some(({ event }) => event === 'tokens'))
      await new Promise((resolve) => setTimeout(resolve, 2));
    truncateSync(which !== 'sidecar' ? own : sidecarOf(own), 0);
    const error = await engine.next('error');
    expect(error).toMatchObject({ id: 90, code: 'io' });
    expect(error['message']).toMatch(says);
    engine.send({ op: 'quit' });
    expect(await engine.exited).toMatchObject({ code: 0, signal: null });
  });

  test.each([
    ['cut', (file: string) => truncateSync(file, 4096), /./],
    ['written to', overwrite, /own-load\.gguf: changed since it was opened: it was written to; restart/],
  ])('%s while it is loaded: exit 3 and one line', async (_, change, says) => {
    const own = ownModel('own-load');
    const now = createSwitch(folder.path);
    const env = suffering(['slow', { path: 'own-load.gguf', ms: 20, when: now.file }]);
    now.on();
    const engine = new Strata(['--model', own, '--threads', '1', '--file-readers', '1'], env);
    while (!engine.events.some(({ event }) => event === 'loading'))
      await new Promise((resolve) => setTimeout(resolve, 2));
    change(own);
    now.off();
    // One that gets ready all the same ends by this.
    engine.child.stdin.end();
    const { code, signal, stderr } = await engine.exited;
    expect([code, signal]).toEqual([3, null]);
    expect(stderr).toMatch(/^rota-strata: [^\n]*own-load\.gguf: [^\n]*\n$/);
    expect(stderr).toMatch(says);
  });

  test('another mode or owner is no change', async () => {
    const own = ownModel('own-mode');
    const { engine } = await Strata.start(['--model', own, ...FILE_TIER]);
    await using _ = engine;
    const first = await engine.generate(ask);
    chmodSync(own, 0o600);
    expect((await engine.generate(ask)).ids).toEqual(first.ids);
    expect(readFileSync(own).length).toBeGreaterThan(0);
  });
});
