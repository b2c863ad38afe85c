// A disk without room: one line says which file, nothing that was finished is lost, and no half line or half file stays.

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { createSwitch, suffering } from './helpers/faults.ts';
import { bin, PATIENCE_MS, promptOf, runStrata, Strata } from './helpers/strata.ts';
import { withModel } from './helpers/workspace.ts';

const { folder, model } = withModel('mini-xs');
const ask = { id: 90, op: 'generate', prompt: promptOf(20, 128), max_new: 12, ignore_eos: true };

const passesIn = (ledger: string): number[] =>
  readFileSync(ledger, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { pass: number }).pass);

describe('--ledger', () => {
  test('without room answers all the same, says so once a request, and writes every line when there is room', async () => {
    const ledger = path.join(folder.path, 'ledger.jsonl');
    const full = createSwitch(folder.path);
    const env = suffering(['write', { path: 'ledger.jsonl', room: 1000, when: full.file }]);
    const { engine } = await Strata.start(['--model', model, '--depth', '0', '--ledger', ledger], env);
    await using _ = engine;
    full.on();
    const first = await engine.generate(ask);
    expect(first.ids).toHaveLength(12);
    expect(readFileSync(ledger, 'utf8')).toBe('');
    const second = await engine.generate(ask);
    full.off();
    const third = await engine.generate(ask);
    const passes = [first, second, third].flatMap(({ pass_ms }) => pass_ms.map((_, i) => i));
    expect(passesIn(ledger)).toEqual(passes);
    const lines = engine.stderr.split('\n').filter((line) => line.includes('--ledger'));
    expect(lines).toEqual([
      `serve: --ledger ${ledger}: cannot write: No space left on device; 11 lines are held until the next request: make room`,
      `serve: --ledger ${ledger}: cannot write: No space left on device; 22 lines are held until the next request: make room`,
    ]);
  });

  test('that never finds room is exit 3 at the end', () => {
    const { code, stdout, stderr } = runStrata(
      ['--model', model, '--ledger', '/dev/full'],
      `${JSON.stringify(ask)}\n`,
    );
    expect(code).toBe(3);
    expect(stdout).toContain('"done"');
    expect(stderr.trimEnd().split('\n').at(-1)).toMatch(
      /^serve: --ledger \/dev\/full: cannot write: No space/,
    );
  });
});

describe('--dump-routes', () => {
  test('without room fails the request, keeps whole rows, and goes on when there is room', async () => {
    const routes = path.join(folder.path, 'routes.bin');
    const full = createSwitch(folder.path);
    const env = suffering(['write', { path: 'routes.bin', room: 100, when: full.file }]);
    const { engine, ready } = await Strata.start(['--model', model, '--dump-routes', routes], env);
    await using _ = engine;
    await engine.generate(ask);
    const before = readFileSync(routes);
    full.on();
    engine.send({ ...ask, id: 91 });
    expect(await engine.next('error')).toMatchObject({
      id: 91,
      code: 'io',
      message: `--dump-routes ${routes}: cannot write: No space left on device`,
    });
    expect(readFileSync(routes)).toEqual(before);
    full.off();
    await engine.generate({ ...ask, id: 92 });
    const after = readFileSync(routes);
    const { moe_layers: layers, top_k: topK } = ready.model;
    expect((after.length - before.length) % (2 * (1 + layers * topK))).toBe(0);
    expect(after.length).toBeGreaterThan(before.length);
    const rank = ['rank', '--rows', 'all', '--routes', routes, '--out', path.join(folder.path, 'rank')];
    expect(spawnSync(path.join(bin, 'rota-model'), rank, { encoding: 'utf8' })).toMatchObject({
      status: 0,
      stderr: '',
    });
  });
});

describe('rota-model synth', () => {
  test.each([0, 5000, 3_000_000])(
    'with room for %i bytes ends with 3, one line, and no half model',
    (room) => {
      const out = path.join(folder.path, `full-${room}.gguf`);
      const env = { ...process.env, ...suffering(['write', { path: path.basename(out), room }]) };
      const argv = ['synth', '--config', 'mini-xs', '--seed', '1', '--out', out];
      const { status, signal, stderr } = spawnSync(path.join(bin, 'rota-model'), argv, {
        env,
        encoding: 'utf8',
      });
      expect([status, signal]).toEqual([3, null]);
      expect(stderr).toMatch(/^rota-model: [^\n]*full-\d+\.gguf[^\n]*No space left on device[^\n]*\n$/);
      // Under no name, that of a file in the making included.
      expect(readdirSync(folder.path).filter((name) => name.startsWith(`full-${room}.`))).toEqual([]);
    },
  );
});

test('a file where the answers go that is full ends the engine, with nobody left to hear it', () => {
  const input = path.join(folder.path, 'input.jsonl');
  writeFileSync(input, `${JSON.stringify(ask)}\n`);
  const { status, signal } = spawnSync(
    'sh',
    ['-c', `exec "$0" --model "$1" < "$2" > /dev/full`, path.join(bin, 'rota-strata'), model, input],
    { timeout: PATIENCE_MS },
  );
  expect(signal).toBe(null);
  expect(status).not.toBe(139);
});
