// Knobs of decoding, speculation, prompt passes and caches: what each moves, and what it must leave alone.

import { beforeAll, describe, expect, test } from 'vitest';
import { type Answers, answersOf, output } from './helpers/answers.ts';
import {
  type Done,
  promptOf,
  runStrata,
  SOURCES,
  Strata,
  synthesise,
  temporaryFolder,
} from './helpers/strata.ts';
import { withModel } from './helpers/workspace.ts';

const { model } = withModel('mini-xs');
let base: Answers;

const run = (...knobs: string[]): Promise<Answers> => answersOf(model, ...knobs);

const kvBytes = ({ ready }: Answers): number => Number(ready.sizes['kv_bytes']);

beforeAll(async () => {
  base = await run();
});

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

describe('knob: kv', () => {
  test('packed gives the bits of f32 from less than half of the bytes', async () => {
    const packed = await run('--kv', 'packed');
    expect(output(packed)).toEqual(output(base));
    expect(packed.ready.knobs['kv']).toBe('packed');
    // Codes of 8 and 4 bits and their scales; the open groups of a compressor stay fp32.
    expect(kvBytes(packed)).toBeLessThan(kvBytes(base) * 0.45);
  });

  test('f16 halves what is not an open group, and its output repeats', async () => {
    const half = await run('--kv', 'f16');
    expect(kvBytes(half)).toBeGreaterThan(kvBytes(base) * 0.5);
    expect(kvBytes(half)).toBeLessThan(kvBytes(base) * 0.65);
    expect(output(await run('--kv', 'f16'))).toEqual(output(half));
  });

  test('f16 rounds what the model does not round: the logits differ', async () => {
    const digests = ({ done }: Answers): unknown => done.map(({ digest }) => digest.logits);
    const exact = await run('--kv-quant', 'off');
    expect(digests(await run('--kv-quant', 'off', '--kv', 'f16'))).not.toEqual(digests(exact));
  });
});

describe('knob: ctx', () => {
  test('pays for more positions and changes nothing else', async () => {
    const wide = await run('--ctx', '1256');
    expect(output(wide)).toEqual(output(base));
    expect(wide.ready.sizes['ctx']).toBe(1256);
    // Groups of ratio 2, 2 and 1: a key of 64 and an index key of 32 floats each.
    expect(kvBytes(wide) - kvBytes(base)).toBe((500 + 500 + 1000) * (64 + 32) * 4);
  });

  test('refuses a request that it cannot hold, and the engine lives on', async () => {
    const { engine } = await Strata.start(['--model', model, '--ctx', '20', '--depth', '0']);
    await using _ = engine;
    engine.send({ id: 1, op: 'generate', prompt: promptOf(15, 128), max_new: 6 });
    expect(await engine.next('error')).toMatchObject({
      code: 'bad_request',
      message: 'a prompt of 15 tokens + max_new 6 = 21 positions, the context holds 20 (--ctx)',
    });
    expect((await engine.generate({ prompt: promptOf(15, 128), max_new: 5 })).ids).toHaveLength(5);
  });
});

describe('knob: prompt-batch', () => {
  test.each([1, 7, 40, 4096])(
    '%i rows a pass give the same output from other prompt passes',
    async (rows) => {
      const batched = await run('--prompt-batch', String(rows));
      expect(output(batched)).toEqual(output(base));
      for (const [index, { counters }] of batched.done.entries()) {
        const before = base.done[index]?.counters;
        expect(counters.prefill.passes).toBe(Math.ceil(counters.prefill.rows / rows));
        expect(counters.prefill.rows).toBe(before?.prefill.rows);
        expect(counters.prefill.lookups).toBe(before?.prefill.lookups);
        expect(counters.lookups).toBe(before?.lookups);
      }
    },
  );

  test('a larger batch reads an expert for more rows at once', async () => {
    const distinct = ({ done }: Answers): number =>
      done.reduce(
        (sum, { counters }) =>
          sum + Object.values(counters.prefill.distinct).reduce((all, blobs) => all + blobs, 0),
        0,
      );
    expect(distinct(await run('--prompt-batch', '1'))).toBeGreaterThan(distinct(base) * 2);
  });
});

const sum = (of: Record<string, number>): number => Object.values(of).reduce((all, each) => all + each, 0);

describe('knob: step-max', () => {
  test.each([1, 9])('%i rows a step: less scratch, more blobs and bytes of the prompt', async (step) => {
    const steps = await run('--step-max', String(step));
    expect(output(steps)).toEqual(output(base));
    expect(steps.ready.sizes['expert_scratch_bytes']).toBeLessThan(
      Number(base.ready.sizes['expert_scratch_bytes']) / 4,
    );
    for (const [index, { counters }] of steps.done.entries()) {
      const before = base.done[index]?.counters as Done['counters'];
      expect(counters.prefill.passes).toBe(before.prefill.passes);
      expect(counters.prefill.lookups).toBe(before.prefill.lookups);
      expect(counters.prefill.bytes.dense).toBe(before.prefill.bytes.dense);
      expect(sum(counters.prefill.distinct)).toBeGreaterThan(sum(before.prefill.distinct));
      for (const source of SOURCES) {
        expect(counters[source], source).toBe(before[source]);
        expect(counters.bytes[source], source).toBe(before.bytes[source]);
      }
    }
  });

  test('a step that no pass exceeds changes nothing, and verify passes are never cut', async () => {
    const wide = await run('--step-max', '4096');
    expect(wide.ready.sizes['expert_scratch_bytes']).toBe(base.ready.sizes['expert_scratch_bytes']);
    const counters = ({ done }: Answers): unknown => done.map((each) => each.counters.prefill);
    expect(counters(wide)).toEqual(counters(base));
    const one = await run('--step-max', '1');
    expect(one.done.map((each) => each.counters.distinct)).toEqual(
      base.done.map((each) => each.counters.distinct),
    );
  });
});

describe('the head', () => {
  test('is computed for the last prompt row alone, however the prompt is cut', async () => {
    for (const answers of [base, await run('--prompt-batch', '7')]) {
      for (const { counters } of answers.done) {
        expect(counters.prefill.head_rows).toBe(1);
        expect(counters.head_rows).toBe(counters.rows);
      }
    }
  });
});

describe('image tokens', () => {
  test('are refused by name where the file names them, and are words of the vocabulary where it does not', async () => {
    const seeing = temporaryFolder();
    const named = synthesise(seeing.path, 'mini-xs', '--image-token', '120');
    const prompt = [5, 120, 7];
    const { engine } = await Strata.start(['--model', named, '--ctx', '64']);
    await using _ = engine;
    engine.send({ id: 1, op: 'generate', prompt, max_new: 2 });
    expect(await engine.next('error')).toMatchObject({
      code: 'unsupported',
      message:
        'prompt[1]: token 120 stands for an image: vision is not supported, the engine serves the text model alone',
    });
    expect((await engine.generate({ prompt: [5, 6, 7], max_new: 2 })).ids).toHaveLength(2);
    const blind = await Strata.start(['--model', model, '--ctx', '64']);
    await using __ = blind.engine;
    expect((await blind.engine.generate({ prompt, max_new: 2 })).ids).toHaveLength(2);
    seeing.remove();
  });
});
