// Engram tables out of the released safetensors: a real process, killed in the middle and started again, and the engine over what it wrote.

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  bin,
  generateOnce,
  isSanitized,
  type Json,
  promptOf,
  runStrata,
  synthesise,
} from './helpers/strata.ts';
import { workspace } from './helpers/workspace.ts';

const folder = workspace();
const tool = path.join(bin, 'rota-model');
const body: Json = { prompt: promptOf(30, 160), max_new: 16 };

interface Tensor {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: Buffer;
}

function writeSafetensors(file: string, tensors: readonly Tensor[]): void {
  const header: Json = {};
  let end = 0;
  for (const { name, dtype, shape, data } of tensors) {
    header[name] = { dtype, shape, data_offsets: [end, end + data.length] };
    end += data.length;
  }
  const json = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  writeFileSync(file, Buffer.concat([length, json, ...tensors.map(({ data }) => data)]));
}

function table(layer: number, dim: number, codes: Buffer, scales: Buffer): readonly Tensor[] {
  const rows = codes.length / dim;
  const name = `layers.${layer}.engram.embed`;
  return [
    { name: `${name}.weight`, dtype: 'F8_E4M3', shape: [rows, dim], data: codes },
    { name: `${name}.scale`, dtype: 'F8_E8M0', shape: [rows, dim / 32], data: scales },
  ];
}

/** The tables of a model in MXFP8, as two shards with codes and scales apart. */
function shardsOf(model: string, into: string): void {
  mkdirSync(into);
  const inspected = JSON.parse(execFileSync(tool, ['inspect', model, '--json'], { encoding: 'utf8' }));
  const bytes = readFileSync(model);
  for (const { name, ne, offset, bytes: size } of inspected.tensors) {
    const layer = /^blk\.(\d+)\.engram_embed\.weight$/.exec(name)?.[1];
    if (layer === undefined) continue;
    const blocks = Array.from({ length: size / 33 }, (_, i) =>
      bytes.subarray(offset + i * 33, offset + (i + 1) * 33),
    );
    const codes = Buffer.concat(blocks.map((block) => block.subarray(1)));
    const scales = Buffer.concat(blocks.map((block) => block.subarray(0, 1)));
    writeSafetensors(path.join(into, `${layer}.safetensors`), table(Number(layer), ne[0], codes, scales));
  }
}

function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

describe('knob: engram', () => {
  let own: string;
  let bare: string;
  let tables: string;
  beforeAll(() => {
    own = synthesise(folder.path, 'mini-xs2', '--engram-format', 'MXFP8');
    const shards = path.join(folder.path, 'shards');
    shardsOf(own, shards);
    tables = path.join(folder.path, 'tables.gguf');
    execFileSync(tool, ['extract-engram', '--from', shards, '--out', tables], { stdio: 'pipe' });
    const other = path.join(folder.path, 'bare');
    mkdirSync(other);
    bare = synthesise(other, 'mini-xs2', '--engram-tables', 'off');
  });

  test('tables from a file of their own give the output of the model that has them', async () => {
    const [expected] = (await generateOnce(['--model', own, '--ctx', '128'], body)).done;
    const [named] = (await generateOnce(['--model', bare, '--engram', tables, '--ctx', '128'], body)).done;
    expect(named?.digest).toEqual(expected?.digest);
    expect(named?.counters.engram).toEqual(expected?.counters.engram);
    expect(named?.counters.engram.bytes).toBeGreaterThan(0);
    renameSync(tables, bare.replace('.gguf', '.engram.gguf'));
    const [beside] = (await generateOnce(['--model', bare, '--ctx', '128'], body)).done;
    expect(beside?.digest).toEqual(expected?.digest);
    renameSync(bare.replace('.gguf', '.engram.gguf'), tables);
  });

  test('a model without tables ends with 3 and says which are missing', () => {
    const { code, stderr } = runStrata(['--model', bare]);
    expect(code).toBe(3);
    expect(stderr).toContain('tensor blk.2.engram_embed.weight: missing');
    expect(runStrata(['--model', bare, '--engram', path.join(folder.path, 'none')]).code).toBe(3);
  });
});

describe('a run that is killed', () => {
  const DIM = 256;
  const ROWS = 120_000;
  const from = ['47', '48'].map((shard) => path.join(folder.path, `model-000${shard}.safetensors`));
  const out = path.join(folder.path, 'big.gguf');
  const partial = `${out}.partial`;
  const argv = ['extract-engram', '--from', ...from, '--out', out];

  beforeAll(() => {
    for (const [index, file] of from.entries()) {
      const codes = Buffer.alloc(ROWS * DIM);
      for (let i = 0; i < codes.length; i += 4) codes.writeUInt32LE((i * 2654435761 + index) >>> 0, i);
      const scales = Buffer.alloc((ROWS * DIM) / 32, 120 + index);
      writeSafetensors(file, table(index === 0 ? 1 : 14, DIM, codes, scales));
    }
  });

  test('goes on where it was and ends with the same file, in bounded memory', async () => {
    const whole = spawnSync(
      '/usr/bin/env',
      ['bash', '-c', `ulimit -v ${isSanitized ? 'unlimited' : 262_144}; exec "$0" "$@"`, tool, ...argv],
      {
        encoding: 'utf8',
      },
    );
    expect(whole.stderr).toContain('verified');
    expect(whole.status).toBe(0);
    const expected = sha256(out);
    const size = statSync(out).size;
    expect(size).toBeGreaterThan(2 * ROWS * (DIM / 32) * 33);
    rmSync(out);

    const child = spawn(tool, argv, { stdio: 'ignore' });
    const ended = once(child, 'exit');
    while (!existsSync(partial) || statSync(partial).size < size / 10) {
      if (child.exitCode !== null) throw new Error('it ended before it could be killed');
      await new Promise((resolve) => setImmediate(resolve));
    }
    child.kill('SIGKILL');
    expect((await ended)[1]).toBe('SIGKILL');
    expect(existsSync(out)).toBe(false);
    const reached = statSync(partial).size;
    expect(reached).toBeLessThan(size);

    const again = spawnSync(tool, argv, { encoding: 'utf8' });
    expect(again.stderr).toContain('went on with an earlier run, verified');
    expect(again.status).toBe(0);
    expect(sha256(out)).toBe(expected);
    expect(existsSync(partial)).toBe(false);
  });

  test('a disk without room is said before a byte is written: what is needed, where, what is free', () => {
    const there = spawnSync('df', ['--output=avail', '-B1', '/dev/shm'], { encoding: 'utf8' });
    const free = Number(there.stdout.split('\n')[1]);
    if (there.status !== 0 || !(free > 0)) return;
    const huge = path.join(folder.path, 'huge.safetensors');
    const rows = Math.ceil((free * 2) / DIM);
    const names = table(1, DIM, Buffer.alloc(DIM), Buffer.alloc(DIM / 32));
    const header: Json = {};
    let end = 0;
    for (const { name, dtype, shape } of names) {
      const bytes = rows * (shape[1] ?? 0);
      header[name] = { dtype, shape: [rows, shape[1]], data_offsets: [end, end + bytes] };
      end += bytes;
    }
    const json = Buffer.from(JSON.stringify(header));
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(json.length));
    writeFileSync(huge, Buffer.concat([length, json]));
    truncateSync(huge, 8 + json.length + end); // sparse: takes no room
    const result = spawnSync(tool, ['extract-engram', '--from', huge, '--out', '/dev/shm/rota-huge.gguf'], {
      encoding: 'utf8',
    });
    expect(result.status).toBe(3);
    expect(result.stderr).toMatch(
      /^rota-model: \/dev\/shm: \/dev\/shm\/rota-huge\.gguf needs \d+ bytes, the disk has \d+ free\n$/,
    );
    expect(existsSync('/dev/shm/rota-huge.gguf.partial')).toBe(false);
  });
});
