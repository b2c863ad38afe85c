// rota bench with the real native benchmark, on little memory: its words, its exit codes and its progress.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBenchWatch } from '../../src/cli/commands/bench.ts';
import { type Bench, createBench } from './helpers/rota.ts';

let bench: Bench;
beforeAll(() => {
  bench = createBench();
});
afterAll(() => bench.remove());

const SMALL = ['--share-machine', '--gib', '0.25', '--rounds', '1', '--window-ms', '1', '--threads', '2'];

describe('rota bench pool', () => {
  it('prints the rate of whole experts beside the ceiling of the same memory', async () => {
    const { exitCode, stdout, stderr } = await bench.rota(
      ...['bench', 'pool', '--formats', 'Q2_0', '--rows', '1,2', ...SMALL, '--json'],
    );
    expect(stderr).toBe('');
    expect(exitCode).toBe(0);
    const result = JSON.parse(stdout);
    expect(result).toMatchObject({
      benchmark: 'pool',
      memory: { bytes: 2 ** 28, below_definition: true, huge_pages_asked: true },
      shape: { dim: 5120, moe_inter: 2304, experts_a_call: 6 },
    });
    expect(result.cpu).not.toBe('');
    expect(result.memory.resident_bytes).toBeGreaterThan(0.9 * 2 ** 28);
    expect(result.lines.map((line: { rows: number }) => line.rows)).toEqual([1, 2]);
    for (const line of result.lines) {
      expect(line).toMatchObject({ format: 'Q2_0', blob_bytes: 9_953_280, blobs: 26 });
      expect(line.by_threads.map((cell: { threads: number }) => cell.threads)).toEqual([1, 2]);
      expect(line.ratio).toBeCloseTo(line.pool_bytes_per_s / line.ceiling_bytes_per_s, 9);
    }
  });

  it('says in the table that little memory is below the definition', async () => {
    const { stdout } = await bench.rota('bench', 'pool', '--formats', 'Q3_K', '--rows', '1', ...SMALL);
    expect(stdout).toContain('below the definition: it asks for 4 GiB of distinct experts\n');
    expect(stdout).toMatch(/^Q3_K +1 +\d+\.\d\d \(\d\) +\d+\.\d\d \(\d\) +\d\.\d{3}$/m);
  });

  it('refuses in one line', async () => {
    const refused = async (...argv: string[]): Promise<string> => {
      const { exitCode, stderr } = await bench.rota('bench', ...argv, '--share-machine');
      return `${exitCode}: ${stderr}`;
    };
    expect(await refused('pol')).toBe('2: rota-bench: unknown command "pol"; did you mean pool?');
    expect(await refused('pool', '--formats', 'Q9')).toMatch(
      /^2: rota-bench: pool: --formats: [^\n]*Q9[^\n]*$/,
    );
    expect(await refused('decode', '--tokens', '0')).toBe(
      '2: rota-bench: decode: --tokens: 0 is not in 1..200',
    );
    expect(await refused('pool', '--gib', '100000')).toMatch(
      /^4: rota-bench: pool: out of memory: asked [^\n]*lower --gib[^\n]*$/,
    );
  });
});

describe('the progress of a benchmark', () => {
  const line = '{"event":"progress","done":3,"all":12,"what":"Q2_0, rows 4","seconds_left":130.2}';

  it('is a live line on a terminal, and what is no progress is told', () => {
    let said = '';
    const watch = createBenchWatch({
      isTerminal: { stdout: true, stderr: true },
      columns: 80,
      tell: (text) => {
        said += text;
      },
    });
    watch.line(line);
    watch.line('rota-bench: pool: no');
    expect(said).toBe('\r\u001b[2KQ2_0, rows 4 · 25 % · 2 min 10 s left\r\u001b[2Krota-bench: pool: no\n');
  });

  it('is a line every half minute in a log', () => {
    let said = '';
    let nowMs = 0;
    const watch = createBenchWatch(
      {
        isTerminal: { stdout: false, stderr: false },
        columns: 80,
        tell: (text) => {
          said += text;
        },
      },
      () => nowMs,
    );
    for (nowMs = 0; nowMs < 61_000; nowMs += 1_000) watch.line(line);
    expect(said).toBe('Q2_0, rows 4 · 25 % · 2 min 10 s left\n'.repeat(2));
  });
});
