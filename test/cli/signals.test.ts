// SIGTERM and SIGINT in what the command line does outside a session, by real processes: it ends within seconds by the documented exit code, says so in a
// line, leaves no process and no half file, and the next command works.
import { chmodSync, existsSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readPidStat } from '../../src/machine/processes.ts';
import { suffering } from '../native/helpers/faults.ts';
import { type Bench, createBench, protocol } from './helpers/rota.ts';
import { expectClean, hasOpen, processesNaming, signalled } from './helpers/signalled.ts';

// Starting processes takes many times as long on a machine that compiles beside.
vi.setConfig({ testTimeout: 120_000 });

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MODELS = path.join(ROOT, 'native/build/models');
const SHARE = '--share-machine';
const BOTH = ['SIGTERM', 'SIGINT'] as const;

let bench: Bench;
beforeEach(() => {
  bench = createBench();
});
afterEach(() => bench.remove());

describe.each(BOTH)('%s', (signal) => {
  it('while the plan is made, which writes a synthetic model, leaves nothing of it', async () => {
    const seed = 770_000_000 + process.pid * 2 + BOTH.indexOf(signal);
    bench.write('synth.yaml', protocol({ model: { synth: { config: 'mini-m', seed } } }));
    const mine = (): string[] =>
      existsSync(MODELS)
        ? readdirSync(MODELS, { recursive: true, encoding: 'utf8' }).filter((name) =>
            name.includes(`${seed}`),
          )
        : [];
    try {
      const plan = ['run', 'synth.yaml', '--plan'];
      const ended = await signalled(bench.folder, bench.rota(...plan), signal, () => mine().length > 0);
      expectClean(bench, ended, signal);
      expect(processesNaming(`${seed}`)).toEqual([]);
      expect(ended.stderr).toMatch(
        new RegExp(`^writing the synthetic model [^\\n]+\\nrota: interrupted by ${signal}$`),
      );
      expect(mine()).toEqual([]);
      expect((await bench.rota(...plan)).exitCode).toBe(0);
    } finally {
      for (const name of mine()) rmSync(path.join(MODELS, name), { recursive: true, force: true });
    }
  });

  it('while an engine is built ends every compiler, and the next build goes on', async () => {
    const name = `toy${process.pid}`;
    bench.write(`engines/${name}.yaml`, {
      name,
      summary: 'is built by a program that plays cmake',
      bundled: true,
      build: { preset: 'host', targets: ['toy'] },
      binary: bench.path('toy'),
      command: ['{binary}', '{model}'],
      transport: 'stdio',
      dialect: 'rota',
      tokenIds: true,
      counting: { file: 'disjoint', unit: 'lookup' },
    });
    const cmake = (work: string): string =>
      bench.write('cmake', `#!/bin/sh\ncase "$*" in --version) ;; *--build*) ${work} ;; esac\n`);
    // As cmake does: it waits for a compiler that nobody else knows of.
    const compiler = bench.path('compiler');
    bench.write('compiler', 'trap "" TERM INT\nwhile :; do sleep 0.1; done\n');
    const env = { PATH: `${bench.folder}:${process.env['PATH']}` };
    cmake(`sh ${compiler}; exit 1`);
    const build = () => bench.rotaWith(env, 'build', name);
    chmodSync(bench.path('cmake'), 0o755);
    try {
      const ended = await signalled(
        bench.folder,
        build(),
        signal,
        () => processesNaming(compiler).length > 0,
      );
      expectClean(bench, ended, signal);
      expect(ended.stderr).toBe(`rota: interrupted by ${signal}`);
      cmake(`touch ${bench.path('toy')}`);
      expect(await build()).toMatchObject({ exitCode: 0, stdout: bench.path('toy') });
    } finally {
      rmSync(path.join(ROOT, 'native/build', `${name}.log`), { force: true });
    }
  });

  it('while a report is made changes no file', async () => {
    expect((await bench.rota('run', 'tiny.yaml', SHARE)).exitCode).toBe(0);
    const env = suffering(['slow', { path: 'journal.jsonl', ms: 400 }]);
    const reporting = bench.rotaWith(env, 'report', 'latest', '--recompute');
    const ended = await signalled(bench.folder, reporting, signal, () =>
      hasOpen(reporting.pid, 'journal.jsonl'),
    );
    expectClean(bench, ended, signal);
    expect(ended.stderr).toBe(`rota: interrupted by ${signal}`);
    expect((await bench.rota('report', 'latest', '--recompute')).exitCode).toBe(0);
  });
});

it('a smoke test that gets SIGTERM ends its engine, and is no bug of Rota', async () => {
  bench.write('slow.yaml', protocol({ arms: { base: { play: 'slow-start' }, fast: { rate: 20 } } }));
  const running = bench.rota('run', 'slow.yaml', '--smoke', SHARE);
  const ended = await signalled(
    bench.folder,
    running,
    'SIGTERM',
    () => processesNaming(bench.path('model.gguf')).length > 0,
  );
  expectClean(bench, ended, 'SIGTERM');
  expect(ended.stderr).toMatch(/(^|\n)rota: interrupted by SIGTERM$/);
});

it('a question that gets SIGTERM ends its engine', async () => {
  const model = bench.path('model.gguf');
  const running = bench.rota('ask', 'fake', 'x', '--model', model, '-k', 'rate=5', SHARE);
  const isAsked = (): boolean => processesNaming(`--model\0${model}\0--rate`).length > 0;
  const ended = await signalled(bench.folder, running, 'SIGTERM', isAsked);
  expectClean(bench, ended, 'SIGTERM');
  expect(ended.stderr).toBe('\nrota: interrupted by SIGTERM');
});

it.each([
  ['model', ['synth', '--config', 'mini-m', '--out', 'm.gguf']],
  ['bench', ['pool', '--gib', '1', SHARE]],
])('rota %s that gets SIGTERM ends its tool', async (command, args) => {
  const running = bench.rota(command, ...args);
  const tools = (): number[] =>
    processesNaming(`/bin/rota-${command}\0`).filter((pid) => readPidStat(pid)?.parent === running.pid);
  let tool = 0;
  const ended = await signalled(bench.folder, running, 'SIGTERM', () => {
    tool = tools()[0] ?? 0;
    return tool > 0;
  });
  expectClean(bench, ended, 'SIGTERM');
  expect(ended.stderr).toMatch(/(^|\n)rota: interrupted by SIGTERM$/);
  expect(existsSync(`/proc/${tool}`)).toBe(false);
  expect(existsSync(bench.path('m.gguf'))).toBe(false);
});
