// Knobs of processors and memory: what the system shows of each, and that the output is the same to the last bit.

import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Done, type Json, promptOf, type Ready, runStrata, Strata } from './helpers/strata.ts';
import { withModel } from './helpers/workspace.ts';

const { model } = withModel('mini-s');
// Enough experts for huge pages to hold: the slots and the arena are 7 MiB each.
const body: Json = { prompt: promptOf(40, 1024), max_new: 12 };
let base: Done;
/** The nodes of this machine and the CPUs of this process: nothing below assumes more than one of each. */
const nodes = /^\d+/.exec(readFileSync('/sys/devices/system/node/online', 'utf8'))?.[0] ?? '0';
const lastNode = Number(/\d+$/.exec(readFileSync('/sys/devices/system/node/online', 'utf8').trim())?.[0]);
const cpus = listed(
  /^Cpus_allowed_list:\s+(.*)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '',
);

function listed(text: string): number[] {
  return text.split(',').flatMap((part) => {
    const [first = Number.NaN, last = first] = part.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });
}

beforeAll(async () => {
  base = (await seen()).done;
});

interface Seen {
  readonly ready: Ready;
  readonly done: Done;
  readonly stderr: string;
  /** By name of the thread, as the kernel says: the CPUs it may use. */
  readonly cpusOf: Readonly<Record<string, string>>;
  readonly smaps: string;
}

async function seen(
  knobs: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Seen> {
  const args = ['--model', model, '--ctx', '256', '--slots', '50%', '--arena', '50%', '--depth', '0'];
  const { engine, ready } = await Strata.start([...args, '--threads', '2', ...knobs], env);
  await using _ = engine;
  const done = await engine.generate(body);
  const { pid } = engine.child;
  const threads = readdirSync(`/proc/${pid}/task`).map((task): [string, string] => {
    const status = readFileSync(`/proc/${pid}/task/${task}/status`, 'utf8');
    const name = Number(task) === pid ? 'caller' : (/^Name:\s+(.*)$/m.exec(status)?.[1] ?? '');
    return [name, /^Cpus_allowed_list:\s+(.*)$/m.exec(status)?.[1] ?? ''];
  });
  const smaps = readFileSync(`/proc/${pid}/numa_maps`, 'utf8');
  return { ready, done, stderr: engine.stderr, cpusOf: Object.fromEntries(threads), smaps };
}

/** Ids, digest of the logits, and what a pass was. */
function output({ ids, digest, counters }: Done): unknown {
  return { ids, digest, passes: counters.passes, lookups: counters.lookups };
}

function refused(...knobs: string[]): string {
  const { code, stderr } = runStrata(['--model', model, ...knobs]);
  return `${code}: ${stderr}`;
}

describe('knob: threads', () => {
  test.each([1, 3])('%i of them compute, with the same output', async (threads) => {
    const { ready, done, cpusOf } = await seen(['--threads', String(threads)]);
    expect(ready.threads).toBe(threads);
    expect(ready.machine.thread_cpus).toHaveLength(threads);
    expect(Object.keys(cpusOf).filter((name) => name.startsWith('rota-pool'))).toHaveLength(threads - 1);
    expect(output(done)).toEqual(output(base));
  });
});

describe('knob: affinity', () => {
  const [first = 0] = cpus;
  const last = cpus.at(-1) ?? first;

  test('a list puts thread by thread on its CPUs, the caller too', async () => {
    const { ready, done, cpusOf, stderr } = await seen(['--affinity', `${last},${first}`, '--threads', '0']);
    const expected = first === last ? [`${last}`] : [`${last}`, `${first}`];
    expect(ready.machine.thread_cpus).toEqual(expected);
    expect(cpusOf['caller']).toBe(`${last}`);
    if (first !== last) expect(cpusOf['rota-pool-1']).toBe(`${first}`);
    expect(stderr).toContain(`machine: ${expected.length} threads on CPUs ${expected.join(',')} (affinity `);
    expect(output(done)).toEqual(output(base));
  });

  test('none leaves every thread where the system puts it', async () => {
    const { ready, done, cpusOf } = await seen(['--affinity', 'none']);
    expect(listed(cpusOf['caller'] ?? '')).toEqual(cpus);
    expect(listed(cpusOf['rota-pool-1'] ?? '')).toEqual(cpus);
    expect(ready.knobs['affinity']).toBe('none');
    expect(output(done)).toEqual(output(base));
  });

  test.each(['cores', 'spread'])('%s gives each thread a core of its own', async (affinity) => {
    const threads = Math.min(2, availableParallelism());
    const { ready, done } = await seen(['--affinity', affinity, '--threads', String(threads)]);
    expect(new Set(ready.machine.thread_cpus).size).toBe(threads);
    for (const list of ready.machine.thread_cpus) expect(listed(list)).toHaveLength(1);
    expect(output(done)).toEqual(output(base));
  });

  test('a CPU that is not there, a list too short and a word that is none are refused', () => {
    expect(refused('--affinity', '4000')).toBe(
      `2: rota-strata: --affinity 4000: CPU 4000 is none that this process may use (${shown(cpus)})\n`,
    );
    expect(refused('--affinity', `${first}`, '--threads', '2')).toBe(
      `2: rota-strata: --affinity ${first}: 1 CPUs for 2 threads; name more, or lower --threads\n`,
    );
    expect(refused('--affinity', 'wide')).toBe(
      '2: rota-strata: --affinity: "wide" is none of cores, spread, none and a list of CPUs such as 0-3,8\n',
    );
  });
});

function shown(list: readonly number[]): string {
  const [first, last] = [list[0] ?? 0, list.at(-1) ?? 0];
  return list.length === 1 ? `${first}` : `${first}-${last}`;
}

describe('knob: numa', () => {
  test('binds memory to the node, by its own name and by the family’s', async () => {
    for (const given of [
      { knobs: ['--numa', nodes], env: {} },
      { knobs: [], env: { DS4_NUMA: nodes } },
    ]) {
      const { ready, done, smaps, stderr } = await seen(given.knobs, given.env);
      expect(ready.knobs['numa']).toBe(nodes);
      expect(ready.machine.numa_memory).toBe('bind');
      expect(Object.keys(ready.machine.node_bytes)).toEqual([nodes]);
      expect(ready.machine.node_bytes[nodes]).toBeGreaterThan(10e6);
      expect(smaps).toMatch(new RegExp(`^\\S+ bind:${nodes} .*anon=`, 'm'));
      expect(stderr).toContain(`(numa ${nodes}, memory bind)`);
      expect(output(done)).toEqual(output(base));
    }
  });

  test('a node that is not there and what is no list are refused', () => {
    const none = lastNode + 1;
    expect(refused('--numa', `${none}`)).toMatch(
      new RegExp(`^2: rota-strata: --numa ${none}: this machine has no node ${none}; it has [\\d,-]+\n$`),
    );
    expect(refused('--numa', 'x')).toBe('2: rota-strata: --numa: "x" is no list of numbers such as 0-3,8\n');
  });
});

describe('knob: numa-memory', () => {
  test.each([
    ['interleave', new RegExp(`^\\S+ interleave:${nodes} .*anon=`, 'm')],
    ['local', /^\S+ local .*anon=/m],
    ['off', /^\S+ default .*anon=/m],
  ])('%s is the policy that the kernel has for its memory', async (memory, policy) => {
    const { ready, done, smaps } = await seen(['--numa', nodes, '--numa-memory', memory]);
    expect(ready.machine.numa_memory).toBe(memory);
    expect(smaps).toMatch(policy);
    expect(smaps).not.toMatch(/^\S+ bind:.*anon=/m);
    expect(output(done)).toEqual(output(base));
  });

  test('without nodes there is nothing to bind to', () => {
    expect(refused('--numa-memory', 'bind')).toBe(
      '2: rota-strata: --numa-memory bind needs nodes: --numa LIST\n',
    );
    expect(refused('--numa-memory', 'near')).toBe(
      '2: rota-strata: --numa-memory: "near" is none of auto, bind, interleave, local and off\n',
    );
  });
});

describe('knob: huge-pages', () => {
  const mode = /\[(\w+)\]/.exec(readFileSync('/sys/kernel/mm/transparent_hugepage/enabled', 'utf8'))?.[1];

  test('on gets them where the system has them, and says how many', async () => {
    const { ready, done, stderr } = await seen(['--huge-pages', 'on']);
    if (mode !== 'never') expect(ready.machine.huge_bytes).toBeGreaterThan(0);
    expect(ready.machine.resident_bytes).toBeGreaterThanOrEqual(ready.machine.huge_bytes);
    expect(stderr).toMatch(/experts' memory \d\.\d\d GiB, \d\.\d\d GiB on huge pages/);
    expect(output(done)).toEqual(output(base));
  });

  test('off gets none, by its own name and by the family’s', async () => {
    for (const given of [
      { knobs: ['--huge-pages', 'off'], env: {} },
      { knobs: [], env: { STRATA_NO_LARGEPAGES: '1' } },
    ]) {
      const { ready, done } = await seen(given.knobs, given.env);
      expect(ready.knobs['huge-pages']).toBe('off');
      expect(ready.machine.huge_bytes).toBe(0);
      expect(output(done)).toEqual(output(base));
    }
  });

  test('the family’s switch knows 1 and 0', () => {
    const { code, stderr } = runStrata(['--model', model], '', { STRATA_NO_LARGEPAGES: 'yes' });
    expect([code, stderr]).toEqual([
      2,
      'rota-strata: STRATA_NO_LARGEPAGES: "yes" is neither 1 (no huge pages) nor 0\n',
    ]);
  });
});
