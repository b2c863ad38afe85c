// Acceptance that is assumed of a synthetic model: real drafting and real passes, and coins in place of the comparison.

import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Done, promptOf, runStrata, Strata } from './helpers/strata.ts';
import { withModel } from './helpers/workspace.ts';

const { folder, model } = withModel('mini-xs');
const SUBJECT = 'synthetic subject: speed only';
const knobs = ['--model', model, '--ctx', '256', '--slots', '25%', '--arena', '25%', '--conf', '0'];

async function ask(requests: number, ...more: string[]): Promise<{ done: Done[]; stderr: string }> {
  const { engine, ready } = await Strata.start([...knobs, ...more]);
  await using _ = engine;
  expect(ready).toMatchObject({ lossy: ['assume-accept'], subject: `${SUBJECT}, acceptance assumed` });
  const done: Done[] = [];
  for (let seed = 0; seed < requests; seed++) {
    done.push(await engine.generate({ prompt: promptOf(40, 128, seed + 1), max_new: 41, seed }));
  }
  return { done, stderr: engine.stderr };
}

function work({ ids, pass_tokens, counters }: Done): unknown {
  return { ids, pass_tokens, counters: { ...counters, late: 0, prefetch: null } };
}

describe('knob: assume-accept', () => {
  test('all drafts stand or none, each is paid for, and the books balance', async () => {
    const all = (await ask(1, '--depth', '3', '--assume-accept', '1')).done[0] as Done;
    expect(all.pass_tokens).toEqual(Array.from({ length: 10 }, () => 4));
    const none = (await ask(1, '--depth', '3', '--assume-accept', '0')).done[0] as Done;
    expect(none.counters).toMatchObject({ passes: 40, accepted: 0 });
    for (const { counters, lossy } of [all, none]) {
      expect(lossy).toEqual(['assume-accept']);
      expect(counters.rows).toBe(counters.passes + counters.offered);
      expect(counters.lookups).toBe(counters.rows * 8 * 2);
      expect(counters.hit + counters.cpu + counters.pcie + counters.file).toBe(counters.lookups);
      expect(counters.accepted + counters.passes).toBe(40);
      expect(counters.draft.lookups).toBeGreaterThan(0);
    }
  });

  test('a share of coins falls as asked, the same each time, and the answer says what it is worth', async () => {
    const { done, stderr } = await ask(30, '--depth', '1', '--assume-accept', '0.7');
    const offered = done.reduce((sum, { counters }) => sum + counters.offered, 0);
    const accepted = done.reduce((sum, { counters }) => sum + counters.accepted, 0);
    expect(offered).toBeGreaterThan(500);
    // Two-sided 0.002 of a normal; seeds are fixed, so the count is always the same.
    expect(Math.abs(accepted - 0.7 * offered)).toBeLessThan(3.0902 * Math.sqrt(0.21 * offered));
    expect(done[0]).toMatchObject({ subject: `${SUBJECT}, acceptance assumed` });
    expect(stderr).toContain(`serve: ${SUBJECT}, acceptance assumed (mini-xs, seed 1, values normal)\n`);
    const again = await ask(2, '--depth', '1', '--assume-accept', '0.7');
    expect(again.done.map(work)).toEqual(done.slice(0, 2).map(work));
  });

  test('without it a synthetic model is told apart all the same', async () => {
    const { engine, ready } = await Strata.start([...knobs, '--depth', '1']);
    await using _ = engine;
    expect(ready).toMatchObject({ lossy: [], subject: SUBJECT });
    expect(await engine.generate({ prompt: [5, 6], max_new: 2 })).toMatchObject({ subject: SUBJECT });
  });

  test('real weights refuse it: a model that does not say that it is synthetic', async () => {
    const real = path.join(folder.path, 'real.gguf');
    const bytes = readFileSync(model);
    bytes.write('rota.authentic', bytes.indexOf('rota.synthetic'), 'latin1');
    writeFileSync(real, bytes);
    writeFileSync(
      real.replace('.gguf', '.dspark.gguf'),
      readFileSync(model.replace('.gguf', '.dspark.gguf')),
    );
    const refused = runStrata(['--model', real, '--assume-accept', '0.8']);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      `rota-strata: --assume-accept: ${real} does not say that it is synthetic; real weights have an acceptance of their own\n`,
    ]);
    const { engine, ready } = await Strata.start(['--model', real, '--ctx', '64']);
    await using _ = engine;
    expect(ready).toMatchObject({ subject: null, model: { synthetic: null } });
    expect(await engine.generate({ prompt: [5, 6], max_new: 2 })).not.toHaveProperty('subject');
    expect(engine.stderr).not.toContain('synthetic');
  });

  test('it says what it does not go with', () => {
    const refused = (...more: string[]) => runStrata(['--model', model, '--assume-accept', '0.8', ...more]);
    expect(refused('--depth', '0').stderr).toBe(
      'rota-strata: --assume-accept: nothing drafts here: it needs a DSpark sidecar, and not --depth 0\n',
    );
    expect(refused('--draft-accept', '1').stderr).toBe(
      "rota-strata: --assume-accept is for drafts of the model's own drafter: leave --draft-accept out\n",
    );
  });
});
