// rota model convert: from a checkpoint as the release has it, without engram.json, to an answer.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openTokenizer } from '../../src/model/tokenizer.ts';
import { linkShipped, shipped } from '../model/helpers/shipped.ts';
import { type Bench, createBench } from './helpers/rota.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const Golden = z.array(z.object({ text: z.string(), ids: z.array(z.int()) })).min(10);

let bench: Bench;
beforeAll(() => {
  bench = createBench();
  bench.write('engines/strata.yaml', readFileSync(`${ROOT}engines/strata.yaml`, 'utf8'));
  linkShipped(bench.path('release'), 'engram.json');
});
afterAll(() => bench.remove());

describe('rota model convert', () => {
  it('derives what the release leaves out, says so, and writes both files', async () => {
    const { exitCode, stdout, stderr } = await bench.rota('model', 'convert', 'release', '--out', 'm.gguf');
    expect(exitCode).toBe(0);
    expect(stdout).toBe('m.gguf\nm.dspark.gguf');
    expect(stderr).toMatch(
      /^release\/engram\.json: made from tokenizer\.json, 3212 compressed ids\nrelease: 34\.4 MB in [\d.]+ s, without loss; 11 tensors for images left out$/,
    );
    const made: unknown = JSON.parse(readFileSync(bench.path('release/engram.json'), 'utf8'));
    expect(made).toEqual(JSON.parse(readFileSync(join(shipped, 'engram.json'), 'utf8')));
  });

  it('gives the GGUF the tokenizer of the checkpoint', async () => {
    const tokenizer = await openTokenizer(bench.path('m.gguf'));
    const golden = Golden.parse(JSON.parse(readFileSync(join(shipped, 'tokenizer_golden.json'), 'utf8')));
    expect(golden.map(({ text }) => ({ text, ids: tokenizer.encode(text) }))).toEqual(golden);
    expect([tokenizer.bosId, tokenizer.eosId]).toEqual([0, 1]);
  });

  it('is what the engine runs, with drafts that it accepts', async () => {
    const argv = ['ask', 'strata', 'One, two, three,', '--model', 'm.gguf', '--share-machine'];
    const { exitCode, stdout } = await bench.rota(...argv, '--max-new', '48', '--ignore-eos', '--json');
    expect(exitCode).toBe(0);
    const { ids, counters } = JSON.parse(stdout);
    expect(ids).toHaveLength(48);
    // Random drafts are never right; a trained drafter's often.
    expect(counters.accepted).toBeGreaterThan(8);
  });

  it('refuses in one line, and writes nothing', async () => {
    const again = await bench.rota('model', 'convert', 'release', '--out', 'm.gguf');
    expect([again.exitCode, again.stderr]).toEqual([
      2,
      'rota-model: m.gguf exists; remove it or name another',
    ]);
    const none = await bench.rota('model', 'convert', 'none', '--out', 'n.gguf');
    expect([none.exitCode, none.stderr]).toEqual([
      3,
      'rota-model: none: is no folder; name the one that holds config.json and the safetensors files',
    ]);
    expect(existsSync(bench.path('n.gguf'))).toBe(false);
  });
});
