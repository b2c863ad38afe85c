// Knobs of decoding, speculation, prompt passes and caches: what each moves, and what it must leave alone.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { promptOf, runStrata, Strata, synthesise, temporaryFolder } from './helpers/strata.ts';

const folder = temporaryFolder();
let model: string;

beforeAll(() => {
  model = synthesise(folder.path, 'mini-xs');
});

afterAll(() => folder.remove());

describe('the environment', () => {
  test('gives what the command line does not, and ready and stderr say so', async () => {
    const { engine, ready } = await Strata.start(['--model', model, '--depth', '0', '--conf', '0.2'], {
      STRATA_TIER_BATCH_PCIE: '0.25',
      STRATA_PROMPT_BATCH: '7',
      STRATA_DSPARK_CONF: '0.9',
      DEPTH: '3',
    });
    await using _ = engine;
    expect(ready.environment).toEqual([
      { knob: 'prompt-batch', variable: 'STRATA_PROMPT_BATCH', value: '7' },
      { knob: 'batch-pcie', variable: 'STRATA_TIER_BATCH_PCIE', value: '0.25' },
    ]);
    expect(ready.knobs).toMatchObject({ 'batch-pcie': 0.25, 'prompt-batch': 7, conf: 0.2 });
    const done = await engine.generate({ prompt: promptOf(20, 128), max_new: 2 });
    expect(done.counters.prefill.passes).toBe(3);
    expect(engine.stderr).toContain(
      'serve: --batch-pcie from the environment: STRATA_TIER_BATCH_PCIE=0.25\n',
    );
    expect(engine.stderr).toContain(
      'serve: DEPTH is set in the environment and not read: write STRATA_DSPARK_DEPTH, or give --depth\n',
    );
  });

  test('with a bad value is exit 2 and names the variable', () => {
    const { code, stderr } = runStrata(['--model', model], '', { STRATA_LRU_WIN: 'four' });
    expect(stderr).toBe('rota-strata: STRATA_LRU_WIN: "four" is not a whole number\n');
    expect(code).toBe(2);
  });
});
