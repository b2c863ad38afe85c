// An arena that is the model's own mapping: the same answers, the same hits, nothing copied and nothing written.

import { createHash } from 'node:crypto';
import { readFileSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { describe, expect, test } from 'vitest';
import { runStrata, Strata, synthesise } from './helpers/strata.ts';
import { expectExact, lookups, output, type Played, play, steady, sum } from './helpers/tiers.ts';
import { workspace } from './helpers/workspace.ts';

const TMPFS = 0x0102_1994;
const folder = workspace();
const BASE = ['--ctx', '256', '--slots', '25%', '--depth', '0'];
const one = synthesise(folder.path, 'mini-xs', '--shards', '2').replace('.gguf', '-00001-of-00002.gguf');
const mixed = synthesise(folder.path, 'mini-s');

const digest = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');
const both = async (model: string, ...more: string[]): Promise<readonly [Played, Played]> => [
  await play(model, BASE, '--arena-in-place', 'off', ...more),
  await play(model, BASE, '--arena-in-place', 'on', ...more),
];

describe('knob: arena-in-place', () => {
  test('one format: the same lookups by source as with a copied arena, without a byte of it', async () => {
    const before = digest(one);
    // Without a file tier nothing is guessed ahead, which would read routers.
    for (const more of [[], ['--pcie', '0.5'], ['--depth', '3', '--conf', '0', '--batch-pcie', '0.5']]) {
      const [copied, there] = await both(one, '--prefetch', '0', ...more);
      expectExact(there, copied);
      // Victims go back to where they never left.
      const demoted = (played: Played) => sum(played, (counters) => counters.demoted);
      expect([demoted(there), demoted(copied) > 0]).toEqual([0, true]);
      const apart = (played: Played) => JSON.stringify(steady(played)).replaceAll(/"demoted":\d+/g, '');
      expect(apart(there)).toBe(apart(copied));
      expect(there.ready.sizes).toMatchObject({ arena_in_place: true, arena_experts: 48, file_experts: 0 });
      expect(there.ready.knobs['arena-in-place']).toBe('on');
      expect(copied.ready.sizes).toMatchObject({ arena_in_place: false, arena_experts: 48 });
      expect(there.ready.load.read_bytes).toBe(
        copied.ready.load.read_bytes - Number(copied.ready.sizes['arena_bytes']),
      );
    }
    expect(digest(one)).toBe(before);
  });

  test('mixed formats: the same hits; a victim too large for any place of a copied arena stays in memory', async () => {
    const [copied, there] = await both(mixed);
    expectExact(there, copied);
    expect(lookups(there, 'hit')).toBe(lookups(copied, 'hit'));
    expect(lookups(there, 'cpu')).toBe(lookups(copied, 'cpu') + lookups(copied, 'file'));
    expect(lookups(there, 'file')).toBe(0);
  });

  test('a reset gives the counters of a fresh start', async () => {
    const { engine } = await Strata.start(['--model', mixed, ...BASE, '--arena-in-place', 'on']);
    await using _ = engine;
    const body = { prompt: [5, 6, 7, 8], max_new: 60 };
    const first = await engine.generate(body);
    await engine.reset();
    const again = await engine.generate(body);
    expect(first.counters.admitted).toBeGreaterThan(0);
    expect({ ...again.counters, prefetch: null }).toEqual({ ...first.counters, prefetch: null });
    expect(engine.stderr).toContain(
      `tier: the arena is in place: experts are taken from the mapping of ${mixed}, none is copied\n`,
    );
  });

  test('by itself it is chosen where files are memory, and only for an arena of all experts', async () => {
    const places = [tmpdir(), '/dev/shm'].map((place) => statfsSync(place).type === TMPFS);
    const here = await play(one, BASE);
    expect(here.ready.sizes['arena_in_place']).toBe(places[0]);
    const part = await play(one, BASE, '--arena', '25%');
    expect(part.ready.sizes['arena_in_place']).toBe(false);
    expect(output(part)).toEqual(output(here));
  });

  test('where it cannot be it is refused', () => {
    const refused = (model: string, ...more: string[]) => {
      const { code, stderr } = runStrata(['--model', model, '--arena-in-place', 'on', ...more]);
      return [code, stderr];
    };
    expect(refused(one, '--arena', '25%')).toEqual([
      2,
      'rota-strata: --arena-in-place on: such an arena holds all experts: leave --arena out\n',
    ]);
    const apart = synthesise(folder.path, 'mini-xs', '--layout', 'a');
    expect(refused(apart)).toEqual([
      2,
      `rota-strata: --arena-in-place on: ${apart} has experts whose matrices lie apart\n`,
    ]);
  });
});
