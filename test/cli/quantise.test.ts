// rota quantise with the real native tool, on a small synthetic model: text in, a model out that answers.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tokenLines } from '../../src/model/token-lines.ts';
import { openTokenizer } from '../../src/model/tokenizer.ts';
import { linkShipped, shipped } from '../model/helpers/shipped.ts';
import { type Bench, createBench } from './helpers/rota.ts';

const WORDS = 'the model reads a layer and the router chooses an expert for every token of the text ';

let bench: Bench;
beforeAll(async () => {
  bench = createBench();
  const flags = ['--config', 'mini-four', '--expert-format', 'mxfp4', '--dense-format', 'mxfp8'];
  expect((await bench.rota('model', 'synth', ...flags, '--out', 'm.gguf')).exitCode).toBe(0);
  bench.write('plain.txt', WORDS.repeat(12));
  const documents = [1, 2, 3].map((n) => `${JSON.stringify({ text: WORDS.repeat(3 * n) })}\n`);
  bench.write('lines.jsonl', documents.join(''));
});
afterAll(() => bench.remove());

async function refused(...argv: string[]): Promise<string> {
  const { exitCode, stderr } = await bench.rota('quantise', ...argv);
  return `${exitCode}: ${bench.steady(stderr)}`;
}

describe('token lines', () => {
  it('are documents between the begin and end of the model, one a line', async () => {
    const tokenizer = await openTokenizer(bench.path('m.gguf'));
    const lines = tokenLines(bench.path('lines.jsonl'), tokenizer).trimEnd().split('\n');
    expect(lines.length).toBe(3);
    const first = lines[0]?.split(' ').map(Number) ?? [];
    expect(first.at(-1)).toBe(tokenizer.eosId);
    expect(tokenizer.decode(first.slice(0, -1))).toBe(WORDS.repeat(3));
    expect(tokenLines(bench.path('plain.txt'), tokenizer).trimEnd().split('\n').length).toBe(1);
  });
});

describe('rota quantise', () => {
  it('writes a model of mixed formats, the same from text and from ids', async () => {
    const text = ['--text', 'plain.txt', '--held-out', 'lines.jsonl', '--window', '64', '--threads', '2'];
    const { exitCode, stdout, stderr } = await bench.rota('quantise', 'm.gguf', ...text, '--out', 'q.gguf');
    expect(stderr).toContain('mix against uniform Q2_0');
    expect(exitCode).toBe(0);
    expect(stdout.trimEnd().split('\n')).toEqual(['q.gguf', 'q.dspark.gguf', 'q.quantise.json']);
    const report = JSON.parse(readFileSync(bench.path('q.quantise.json'), 'utf8'));
    expect(report.mix.bytes).toBeLessThanOrEqual(report.mix.budgetBytes);
    expect(existsSync(bench.path('q.gguf.work'))).toBe(false);

    const tokenizer = await openTokenizer(bench.path('m.gguf'));
    bench.write('fit.ids', tokenLines(bench.path('plain.txt'), tokenizer));
    bench.write('held.ids', tokenLines(bench.path('lines.jsonl'), tokenizer));
    const ids = ['--text', 'fit.ids', '--held-out', 'held.ids', '--window', '64', '--threads', '1'];
    expect((await bench.rota('quantise', 'm.gguf', ...ids, '--out', 'again.gguf')).exitCode).toBe(0);
    for (const end of ['gguf', 'dspark.gguf'])
      expect(readFileSync(bench.path(`again.${end}`)).equals(readFileSync(bench.path(`q.${end}`)))).toBe(
        true,
      );
  }, 300_000);

  it('says in one line what it cannot do', async () => {
    bench.write('bad.jsonl', '{"text": "fine"}\n{"txt": 1}\n');
    expect(await refused('m.gguf', '--text', 'bad.jsonl', '--out', 'x.gguf')).toMatchInlineSnapshot(
      `"2: bad.jsonl:2: is no document; write {"text": "..."}, one a line"`,
    );
    expect(await refused('m.gguf', '--text', 'none.ids', '--out', 'x.gguf')).toMatchInlineSnapshot(
      `"2: rota-model: none.ids: cannot open: No such file or directory"`,
    );
    expect(await refused('m.gguf', '--text', 'plain.txt', '--out', 'x.bin')).toMatchInlineSnapshot(
      `"2: rota-model: --out must be named STEM.gguf, not 'x.bin'"`,
    );
    expect(await refused('none.gguf', '--text', 'plain.txt', '--out', 'x.gguf')).toMatchInlineSnapshot(
      `"2: none.gguf: no such model; name a .gguf file or a folder of weights"`,
    );
    expect(existsSync(bench.path('x.gguf.work'))).toBe(false);
  });

  it('refuses a checkpoint with a damaged shard, and leaves nothing', async () => {
    const shard = 'model-00002-of-00003.safetensors';
    linkShipped(bench.path('damaged'), shard);
    const bytes = readFileSync(join(shipped, shard));
    bench.write(`damaged/${shard}`, bytes.subarray(0, bytes.length - 1000));
    const cut = await refused('damaged', '--text', 'plain.txt', '--out', 'd.gguf');
    // A scale that is no number, in the middle of the shard's first expert scales.
    const header = JSON.parse(bytes.subarray(8, 8 + bytes.readUInt32LE(0)).toString());
    const scale = Object.keys(header).find((name) => /experts\.\d+\.w1\.scale$/.test(name)) ?? '';
    const flipped = Buffer.from(bytes);
    flipped[8 + bytes.readUInt32LE(0) + header[scale].data_offsets[0] + 3] = 0xff;
    bench.write(`damaged/${shard}`, flipped);
    const wrong = await refused('damaged', '--text', 'plain.txt', '--out', 'd.gguf');
    expect([cut, wrong].map((line) => line.slice(0, 3))).toEqual(['3: ', '3: ']);
    expect(cut).toContain(shard);
    expect(wrong).toContain(scale.replace(/\.scale$/, ''));
    expect(readdirSync(bench.path('.')).filter((name) => name.startsWith('d.'))).toEqual([]);
  });
});
