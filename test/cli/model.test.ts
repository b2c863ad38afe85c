// rota model and rota ask with the real native programs, on a small synthetic model.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTokenizer } from '../../src/model/tokenizer.ts';
import { type Bench, createBench } from './helpers/rota.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
let bench: Bench;
beforeAll(async () => {
  bench = createBench();
  for (const program of ['rota-model', 'rota-strata']) {
    if (!existsSync(`${ROOT}native/build/host/bin/${program}`))
      throw new Error(`${program} is not built: run npm run build`);
  }
  bench.write('engines/strata.yaml', readFileSync(`${ROOT}engines/strata.yaml`, 'utf8'));
  const { exitCode } = await bench.rota(
    'model',
    'synth',
    '--config',
    'mini-s',
    '--seed',
    '3',
    '--out',
    's.gguf',
  );
  expect(exitCode).toBe(0);
});
afterAll(() => bench.remove());

async function refused(...argv: string[]): Promise<string> {
  const { exitCode, stderr } = await bench.rota(...argv);
  return `${exitCode}: ${bench.steady(stderr)}`;
}

describe('rota model', () => {
  it('passes flags, output and exit codes through', async () => {
    const inspected = await bench.rota('model', 'inspect', 's.gguf', '--json');
    expect(inspected.exitCode).toBe(0);
    expect(Object.keys(JSON.parse(inspected.stdout)).length).toBeGreaterThan(1);
    expect((await bench.rota('model', 'synth', '--help')).stdout).toContain('--expert-format');
    expect(await refused('model', 'synth', '--config', 'nope', '--out', 'x.gguf')).toMatch(/^2: .*nope/);
    expect(await refused('model', 'inspect', 'none.gguf')).toMatch(/^3: .*none\.gguf/);
    expect(await refused('model', 'rank', '--routes', 'none.bin', '--out', 'rank.txt')).toBe(
      '2: rota-model: none.bin: cannot open: No such file or directory',
    );
  });
});

describe('the tokenizer of a synthetic model', () => {
  it('reads what the native writer wrote, and gives every text back', async () => {
    const tokenizer = await openTokenizer(bench.path('s.gguf'));
    for (const text of ['hello world', 'def f(x):\n\treturn x', '你好，世界 😀 1234567']) {
      expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
    }
    // The writer says that no begin of sequence belongs in front.
    expect(tokenizer.bosId).toBeNull();
    expect(tokenizer.eosId).not.toBeNull();
  });
});

describe('rota ask on the strata engine', () => {
  it('keeps what it makes where --models says', async () => {
    const places = ['--models', 'kept', '--model', 'synth:mini-s:1', '--max-new', '2', '--share-machine'];
    expect((await bench.rota('ask', 'strata', 'x', ...places)).exitCode).toBe(0);
    expect(readdirSync(bench.path('kept')).filter((name) => /^mini-s-.*gguf$/.test(name))).toHaveLength(2);
    expect(await refused('ask', 'strata', 'x', '--models', '')).toBe(
      '2: rota: --models: needs the name of a folder',
    );
    // Where no folder can be made, however long one tries.
    expect(await refused('ask', 'strata', 'x', '--models', '/proc/nowhere', '--share-machine')).toMatch(
      /^3: writing .*\nrota: cannot make \/proc\/nowhere: no such file or folder$/,
    );
  });

  const ask = (...argv: string[]) =>
    bench.rota(
      'ask',
      'strata',
      'Name the days of the week.',
      '--model',
      's.gguf',
      '--share-machine',
      ...argv,
    );

  it('answers, and its line agrees with the counters', async () => {
    const { exitCode, stderr } = await ask('--max-new', '12', '--ignore-eos', '-k', 'threads=1');
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(
      /^12 tokens \(length\) \| \d+\.\d\d tok\/s \| .* lookups: \d+ hit, 0 pcie, \d+ cpu, \d+ file, 0 skipped \| synthetic subject: speed only$/,
    );
    const { ids, counters, subject } = JSON.parse(
      (await ask('--max-new', '12', '--ignore-eos', '-k', 'threads=2', '--json')).stdout,
    );
    expect(ids).toHaveLength(12);
    expect(subject).toBe('synthetic subject: speed only');
    const { hit, pcie, cpu, file, skipped } = counters.bySource;
    expect(hit + pcie + cpu + file + skipped).toBe(counters.lookups);
    expect(stderr).toContain(`lookups: ${hit} hit, ${pcie} pcie, ${cpu} cpu, ${file} file`);
  });

  it('says in one line that a model is damaged, or a knob is misspelt', async () => {
    writeFileSync(bench.path('cut.gguf'), readFileSync(bench.path('s.gguf')).subarray(0, 3000));
    const cut = await refused('ask', 'strata', 'x', '--model', 'cut.gguf', '--share-machine');
    expect(cut).toMatch(/^3: rota: cut\.gguf: .*truncated/);
    expect(cut.split('\n')).toHaveLength(1);
    writeFileSync(bench.path('short.gguf'), readFileSync(bench.path('s.gguf')).subarray(0, -64));
    const short = await refused('ask', 'strata', 'x', '--model', 'short.gguf', '--share-machine');
    expect(short).toMatch(/^3: rota: /);
    expect(short.split('\n')).toHaveLength(1);
    expect(await refused('ask', 'strata', 'x', '--model', 's.gguf', '-k', 'slot=25%')).toBe(
      '2: rota: -k: slot: the engine has no such knob; did you mean "slots"?',
    );
  });
});
