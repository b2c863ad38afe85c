// The knob of the device slots: counts, shares, and sizes that hold the context's keys too.

import { beforeAll, describe, expect, test } from 'vitest';
import { runStrata } from './helpers/strata.ts';
import { blobBytes, expectExact, lookups, type Played, play, QUARTERS, sum } from './helpers/tiers.ts';
import { withModel } from './helpers/workspace.ts';

const { model } = withModel('mini-xs');
let base: Played;

const run = (...knobs: string[]): Promise<Played> => play(model, QUARTERS, ...knobs);

beforeAll(async () => {
  base = await run();
});

describe('knob: slots', () => {
  test('a count is a count, and its bytes are reported beside it', async () => {
    const six = await run('--slots', '6x');
    expectExact(six, base);
    expect(six.ready.sizes).toMatchObject({ slots: 6, slots_bytes: 6 * blobBytes(six.ready) });
    expect(six.ready.knobs['slots']).toBe('6x');
    expect(lookups(six, 'hit')).toBeLessThan(lookups(base, 'hit'));
  });

  test('a size holds the keys of the context too: they are taken first', async () => {
    const kv = Number(base.ready.sizes['kv_bytes']);
    const size = kv + 6 * blobBytes(base.ready) + 100;
    const given = await run('--slots', `${size}B`);
    expectExact(given, base);
    expect(given.ready.sizes).toMatchObject({ slots: 6, kv_bytes: kv });
    expect(given.ready.chosen['slots']).toEqual({ size, kv, slots: size - kv });
    const packed = await run('--slots', `${size}B`, '--kv', 'packed');
    expectExact(packed, base);
    const saved = kv - Number(packed.ready.sizes['kv_bytes']);
    expect(saved).toBeGreaterThan(blobBytes(base.ready));
    expect(packed.ready.sizes['slots']).toBe(6 + Math.floor((saved + 100) / blobBytes(base.ready)));
    expect(packed.ready.chosen['slots']).toEqual({ size, kv: kv - saved, slots: size - kv + saved });
    const none = await run('--slots', '0');
    expect(none.ready.sizes['slots']).toBe(0);
    expect(none.ready.chosen['slots']).toBe(undefined);
  });

  test('a size that the keys alone exceed is refused with what to do', () => {
    const { code, stderr } = runStrata(['--model', model, '--ctx', '400000', '--slots', '1MiB']);
    expect(code).toBe(4);
    expect(stderr).toMatch(
      /^rota-strata: out of memory: --slots 1\.0 MiB hold the context's keys too, which take [\d.]+ \wiB: raise it, lower --ctx, or take --kv packed\n$/,
    );
  });

  test('all slots, all hits', async () => {
    const all = await run('--slots', '100%');
    expectExact(all, base);
    expect(lookups(all, 'hit')).toBe(sum(all, (counters) => counters.lookups));
  });
});
