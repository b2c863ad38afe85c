// Models of random weights whose routers want few experts: the engine finds the share of lookups that was asked for.

import { describe, expect, test } from 'vitest';
import { generateOnce, promptOf, synthesise } from './helpers/strata.ts';
import { workspace } from './helpers/workspace.ts';

const folder = workspace();

describe('rota model synth --hot-experts --hot-lookups', () => {
  test.each(['random', 'normal'])(
    'slots by the rank file get the stated share, values %s',
    async (values) => {
      const skew = ['--hot-experts', '0.28', '--hot-lookups', '0.87'];
      const model = synthesise(folder.path, 'mini-m', '--values', values, ...skew);
      const rank = model.replace('.gguf', '.rank');
      // 28 % of 8 layers of 64; no expert enters or leaves a slot.
      const knobs = ['--rank', rank, '--slots', '143x', '--lru-window', '0', '--depth', '0', '--ctx', '512'];
      const { done } = await generateOnce(
        ['--model', model, ...knobs],
        ...[1, 2].map((seed) => ({ prompt: promptOf(256, 4096, seed), max_new: 32, temperature: 1, seed })),
      );
      const sum = (of: (counters: (typeof done)[number]['counters']) => number) =>
        done.reduce((total, { counters }) => total + of(counters), 0);
      const lookups = sum((c) => c.lookups + c.prefill.lookups);
      const hit = sum((c) => c.hit + c.prefill.hit);
      expect(lookups).toBeGreaterThan(16_000);
      // Rows of one prompt are not independent: over twenty models and prompts the share lay between 0.858 and 0.882.
      expect(Math.abs(hit / lookups - 0.87)).toBeLessThan(0.02);
    },
  );
});
