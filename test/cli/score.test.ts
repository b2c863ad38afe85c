// rota score by fake engines whose distributions are known: what is computed from them, what is refused, and what is left behind.
import { existsSync, readdirSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ScoreReport } from '../../src/core/records/score.ts';
import { divergence } from '../../src/core/score/distribution.ts';
import { header, tokenizerKeys } from '../model/helpers/gguf-bytes.ts';
import { type Bench, createBench } from './helpers/rota.ts';
import { expectClean, processesNaming, signalled } from './helpers/signalled.ts';

// Starting processes takes many times as long on a machine that compiles beside.
vi.setConfig({ testTimeout: 120_000 });

let bench: Bench;
beforeEach(() => {
  bench = createBench();
  bench.write(
    'prose.txt',
    'The keeper of the lighthouse had not spoken to anyone for eleven days. '.repeat(4),
  );
});
afterEach(() => {
  const left = existsSync(bench.path('results')) ? readdirSync(bench.path('results')) : [];
  bench.remove();
  expect(left.filter((name) => name.startsWith('.'))).toEqual([]);
  expect(processesNaming(bench.folder)).toEqual([]);
});

const SHORT = ['--window', '20', '--context', '8', '--windows', '3', '--max-new', '12'];

const score = (...words: string[]) =>
  bench.rota(
    'score',
    'fake',
    '-m',
    'model.gguf',
    '--share-machine',
    '--text',
    'prose=prose.txt',
    ...SHORT,
    ...words,
  );

async function scoreJson(...words: string[]): Promise<ScoreReport> {
  const { stdout, stderr, exitCode } = await score('--json', ...words);
  expect(exitCode, stderr).toBe(0);
  return JSON.parse(stdout);
}

async function refusal(...words: string[]): Promise<string> {
  const { exitCode, stderr, stdout } = await score(...words);
  expect(stdout).toBe('');
  const said = stderr.split('\n').filter((line) => !/^(reference|arm) /.test(line));
  return `${exitCode}: ${bench.steady(said.join('\n'))}`;
}

/** As the fake engine makes them. */
const logits = (token: number, shift: number): Float32Array =>
  Float32Array.from({ length: 256 }, (_, id) => (id === token + shift ? 2 + shift : 0));

describe('what is found', () => {
  it('exact against itself is 0 and 1 to the last bit, another arm what its distributions say', async () => {
    const report = await scoreJson('--arm', 'exact', '--arm', 'shift=2');
    const [exact, shifted] = report.arms.map((arm) => arm.classes[0]);
    expect(exact).toMatchObject({
      windows: 3,
      places: 33,
      sameTop1: { value: 1, interval: [1, 1] },
      divergence: { value: 0, interval: [0, 0] },
      perplexityRatio: null,
    });
    const expected = divergence(logits(9, 0), logits(9, 2));
    expect(expected).toBeGreaterThan(0.1);
    expect(shifted).toMatchObject({
      sameTop1: { value: 0 },
      sameTop1Difference: { value: -1, interval: [-1, -1] },
    });
    expect(shifted?.divergence?.value).toBeCloseTo(expected, 9);
    // Every log-probability is 2/50 of a nat lower.
    expect(shifted?.perplexityRatio?.value).toBeCloseTo(Math.exp(0.04), 9);
    expect(report.arms[1]).toMatchObject({ name: 'shift=2', knobs: { shift: 2 }, lossy: ['shift'] });
    expect(report.arms[0]?.windows).toHaveLength(3);
    expect(report).toMatchObject({
      rows: 'decode',
      reference: { name: 'exact' },
      sources: { prose: 'prose.txt' },
    });
  });

  it('is shown in two tables that say what was counted and what is only a glance', async () => {
    const { stdout, stderr, exitCode } = await score('--arm', 'exact', '--arm', 'FAKE_RATE=1000', '--ascii');
    expect(exitCode).toBe(0);
    expect(stderr.split('\n')).toEqual([
      'reference exact (1/3) · starting · 0 %',
      expect.stringMatching(/^arm exact \(2\/3\) · starting · \d+ % · \d+ s left$/),
      expect.stringMatching(/^arm FAKE_RATE=1000 \(3\/3\) · starting · \d+ % · \d+ s left$/),
    ]);
    expect(bench.steady(stdout).replace(/[0-9a-f]{12}/g, '<digest>')).toMatchInlineSnapshot(`
      "class  arm              ppl  interval   x first  interval     top-1 %  interval     KLD nat  interval
      ----------------------------------------------------------------------------------------------------------
      prose  exact           3.31  2.86-3.83        -                 100.0  100.0-100.0   0.0000  0.0000-0.0000
             FAKE_RATE=1000  3.31  2.86-3.83   1.000x  1.000-1.000    100.0  100.0-100.0   0.0000  0.0000-0.0000

      class  arm             windows  places  prefill digest  texts  tokens  8-grams again  looping  first loop  tok/s (glance)
      -------------------------------------------------------------------------------------------------------------------------
      prose  exact                 3      33  <digest>        2      24            0 %        0           -            2000
             FAKE_RATE=1000        3      33  <digest>        2      24            0 %        0           -            1000

      reference: exact, fake on fake, <bench>/model.gguf
      windows of 20 tokens: 8 are context, the others are counted, routed as decode is
      top-1: places where arm and reference find the same token likeliest. KLD:
        divergence of the arm from the reference, nats a place
      intervals: t over windows, 95 %, each by itself; x first: perplexity over that
        of the first arm, paired by window
      tok/s (glance): of the greedy texts, once, with nothing watched: an indication,
        no measurement; rota ab and rota run measure"
    `);
  });

  it('perplexity and agreement without distributions: the divergence is unknown, not 0', async () => {
    const { arms } = await scoreJson('--arm', 'exact', '--arm', 'play=no-logits');
    expect(arms.map((arm) => arm.classes[0]?.divergence?.value ?? null)).toEqual([0, null]);
    expect(arms[1]?.classes[0]?.sameTop1.value).toBe(1);
    const { stdout } = await score('--reference', 'play=no-logits');
    expect(stdout).toContain('KLD n/a: an engine does not give whole distributions');
    const swallowed = ['--rows', 'prompt', '--arm', 'play=swallows-fields'];
    expect((await scoreJson(...swallowed)).arms[0]?.classes[0]).toMatchObject({
      divergence: null,
      prefillSha256: null,
    });
  });

  it('the rates of a run stand beside the arms that have its settings', async () => {
    await bench.rota('run', 'tiny.yaml', '--share-machine');
    const arms = ['--arm', 'rate=3000', '--arm', 'rate=2999', '--run', 'latest'];
    const { rates } = await scoreJson(...arms);
    expect(rates?.of).toEqual([{ arm: 'rate=3000', class: 'prose', tokPerSec: expect.closeTo(3000, 0) }]);
    expect(await refusal('--arm', 'rate=17', '--run', 'latest')).toMatch(
      /^2: rota: --run latest: measured none of these arms on this engine and model$/,
    );
  });

  it('does not depend on the other classes, nor on how many texts are written', async () => {
    bench.write('other.txt', 'Fog came up the valley in the night and stayed for a week. '.repeat(5));
    const alone = await scoreJson('--texts', '0');
    const both = await scoreJson('--text', 'fog=other.txt');
    const { greedy: _, ...summary } = both.arms[0]?.classes[0] ?? { greedy: null };
    expect({ ...summary, greedy: null }).toEqual(alone.arms[0]?.classes[0]);
    expect(both.arms[0]?.classes.map((each) => each.class)).toEqual(['prose', 'fog']);
  });
});

describe('what is refused, in a line', () => {
  it('words that are none', async () => {
    const lines = await Promise.all([
      refusal('--arm', 'shfit=1'),
      refusal('--arm', 'shift'),
      refusal('--arm', 'shift=1,shift=2'),
      refusal('--arm', 'rate=2000', '--arm', 'exact'),
      refusal('-k', 'shift=1'),
      refusal('--context', '19'),
      refusal('--text', 'code'),
      refusal('--text', 'code=none.txt'),
      refusal('--window', '1000'),
      refusal('--reference', 'none.gguf'),
      refusal('--reference', 'shift=x'),
      refusal('--rows', 'both'),
      refusal('--class', 'prose'),
      bench
        .rota('score', 'fake', '--class', 'proes')
        .then(({ exitCode, stderr }) => `${exitCode}: ${stderr}`),
    ]);
    expect(lines.join('\n')).toMatchInlineSnapshot(`
      "2: rota: --arm: shfit: the engine has no such knob; did you mean "shift"?
      2: rota: --arm: "shift" is no knob; write exact, or NAME=VALUE with commas between, such as route-bias=1.0
      2: rota: --arm: shift is given twice
      2: rota: --arm: exact is the same setting as rate=2000; keep one of them
      2: rota: -k: shift is lossy, so it cannot be common to all; give it to an arm: --arm shift=…
      2: rota: --context: leaves nothing to count; at most 18 of a window of 20
      2: rota: --text: "code" names no text; write CLASS=FILE, such as prose=held-out.txt
      2: rota: --text: cannot open none.txt: no such file or folder
      2: prose.txt: has 276 tokens, a window takes 999 of them; give a longer text or a smaller --window
      2: <bench>/none.gguf: no such model; name a file or folder that exists
      2: rota: --reference: shift: expected a whole number, got "x"
      2: rota: option '--rows <kind>' argument 'both' is invalid. Allowed choices are decode, prompt; see rota score --help
      2: rota: --class: is for the bundled texts; leave out --text or --class
      2: rota: --class: there is no text "proes"; did you mean "prose"?"
    `);
  });

  it('a reference with other words, by its tokenizer and by its vocabulary', async () => {
    bench.write('other.gguf', header(tokenizerKeys(['o t'])));
    expect(await refusal('--reference', 'other.gguf')).toMatchInlineSnapshot(
      `"2: rota: --reference: the reference cuts the text of prose into other tokens (280, not 276); distributions over different words cannot be compared"`,
    );
    expect(await refusal('--reference', 'play=other-vocabulary')).toMatchInlineSnapshot(
      `"2: rota: --reference: the reference has a vocabulary of 300, exact one of 256; distributions over different words cannot be compared"`,
    );
  });

  it('a window that does not fit, an engine that reads prompts only, logits that are none', async () => {
    expect(await refusal('--arm', 'play=short-context')).toMatchInlineSnapshot(
      `"2: rota: --window: the engine refuses a window: 20 tokens, the context holds 16 (--ctx); take smaller windows, or give the arm a longer context"`,
    );
    expect(await refusal('--arm', 'play=swallows-fields')).toMatchInlineSnapshot(
      `"3: rota: play=swallows-fields: the engine does not say where its prompt ended, so it may have read the whole text as one; use --rows prompt"`,
    );
    expect(await refusal('--arm', 'play=broken-logits')).toMatchInlineSnapshot(
      `"3: rota: play=broken-logits: its logits of prose, window 0, are no distribution: the divergence is NaN"`,
    );
    expect(await refusal('--arm', 'play=refuses-score')).toMatchInlineSnapshot(
      `"3: rota: play=refuses-score: the engine refused: bad_op: no such op: score"`,
    );
  });

  it('an engine that dies in the middle, with its last words', async () => {
    expect(await refusal('--arm', 'play=crash-in-score')).toMatchInlineSnapshot(`
      "3: rota: play=crash-in-score: the engine ended while it should score: exit code 9; its last words:
        | fake engine crash-in-score starts
        | score: out of ideas"
    `);
  });
});

describe.each(['SIGTERM', 'SIGINT'] as const)('%s', (signal) => {
  it('ends the engine and leaves no logits', async () => {
    const running = score('--arm', 'play=slow-score');
    const asked = (): boolean =>
      processesNaming(bench.path('model.gguf')).some(
        (pid) => processesNaming('slow-score').includes(pid) && pid !== running.pid,
      );
    const ended = await signalled(bench.folder, running, signal, asked);
    expectClean(bench, ended, signal);
    expect(ended.stderr).toContain(`rota: interrupted by ${signal}`);
  });
});
