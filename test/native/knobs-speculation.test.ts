// Knobs of speculation: each moves what is drafted, verified or read, and none changes what is said.

import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Answers, answersOf, bodies, COMMON, said } from './helpers/answers.ts';
import { type Done, type Json, runStrata, Strata } from './helpers/strata.ts';
import { withModel } from './helpers/workspace.ts';

const { folder, model } = withModel('mini-xs');
let base: Answers;

const run = (...knobs: string[]): Promise<Answers> => answersOf(model, ...knobs);

beforeAll(async () => {
  base = await run();
});

describe('knob: depth', () => {
  test('drafts that many tokens a pass and verifies each once', async () => {
    const lookups: number[] = [];
    for (const depth of [0, 1, 3, 5]) {
      const drafted = await run('--depth', String(depth));
      expect(said(drafted), String(depth)).toEqual(said(base));
      expect(drafted.ready.knobs['depth']).toBe(depth);
      for (const { counters } of drafted.done) {
        expect(counters.rows).toBe(counters.passes + counters.offered);
        // The last pass wants no more tokens than are left.
        expect(counters.offered).toBeLessThanOrEqual(depth * counters.passes);
        expect(counters.offered).toBeGreaterThan((depth - 1) * counters.passes);
        expect(counters.draft.lookups > 0).toBe(depth > 0);
      }
      lookups.push(drafted.done.reduce((all, { counters }) => all + counters.lookups, 0));
    }
    expect(lookups).toEqual(lookups.toSorted((a, b) => a - b));
    expect(new Set(lookups).size).toBe(lookups.length);
  });

  test('scripted drafts that are right save passes: the same ids by another path', async () => {
    const oracle = path.join(folder.path, 'oracle.txt');
    writeFileSync(oracle, base.done.map(({ ids }) => ids.join(' ')).join('\n'));
    const deep = await run('--draft-oracle', oracle, '--depth', '5');
    expect(said(deep)).toEqual(said(base));
    expect(deep.done[0]?.counters.passes).toBe(4); // 24 tokens: the prompt's, 6, 6, 6 and 5
    expect(deep.done[0]?.counters.accepted).toBe(deep.done[0]?.counters.offered);
  });
});

describe('knob: conf', () => {
  test('a higher bar verifies fewer drafts, down to none, and never changes what is said', async () => {
    const offered: number[] = [];
    for (const conf of ['0', '0.3', '0.5', '0.7', '1']) {
      const gated = await run('--conf', conf);
      expect(said(gated), conf).toEqual(said(base));
      offered.push(gated.done.reduce((all, { counters }) => all + counters.offered, 0));
    }
    expect(offered).toEqual(offered.toSorted((a, b) => b - a));
    expect(new Set(offered).size).toBeGreaterThan(2);
    expect(offered.at(-1)).toBe(0);
  });
});

describe('knob: dump-draft-counts', () => {
  test('writes what each stage chose, and reset begins anew', async () => {
    const file = path.join(folder.path, 'counts.txt');
    const args = ['--model', model, ...COMMON, '--dump-draft-counts', file];
    const { engine } = await Strata.start(args);
    await using _ = engine;
    expect(countsOf(file).map(([, , count]) => count)).toEqual(Array(12).fill(0));
    const [first, second] = bodies as [Json, Json];
    const done = [await engine.generate(first), await engine.generate(second)];
    expect(said({ ready: base.ready, done })).toEqual(said(base));
    const chosen = done.reduce((all, { counters }) => all + counters.draft.lookups, 0);
    expect(countsOf(file).reduce((all, [, , count]) => all + count, 0)).toBe(chosen);
    await engine.reset();
    const again = await engine.generate(first);
    expect(countsOf(file).reduce((all, [, , count]) => all + count, 0)).toBe(again.counters.draft.lookups);
  });

  test('a place that cannot be written is exit 2 before anything is loaded', () => {
    const { code, stderr } = runStrata(['--model', model, '--dump-draft-counts', '/nowhere/c.txt']);
    expect(stderr).toBe(
      'rota-strata: --dump-draft-counts /nowhere/c.txt.new: cannot write: No such file or directory\n',
    );
    expect(code).toBe(2);
  });
});

/** Lines "stage expert count". */
function countsOf(file: string): [number, number, number][] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(' ').map(Number) as [number, number, number]);
}

describe('knob: keep', () => {
  let counts: string;

  beforeAll(async () => {
    counts = path.join(folder.path, 'profile.txt');
    await run('--dump-draft-counts', counts);
  });

  test('all of them is no pruning: every counter is that of none', async () => {
    const all = await run('--keep', `${counts}:4`);
    const stable = ({ done }: Answers): unknown =>
      done.map(({ ids, digest, pass_tokens, counters }) => ({
        ids,
        digest,
        pass_tokens,
        counters: { ...counters, late: 0, prefetch: { ...counters.prefetch, late: 0 } },
      }));
    expect(stable(all)).toEqual(stable(base));
    expect(all.ready.load.read_bytes).toBe(base.ready.load.read_bytes);
  });

  test.each(['flag', 'environment'])(
    'two of four, by %s: less to load and to read, the same ids',
    async (by) => {
      const knobs = by === 'flag' ? ['--keep', `${counts}:2`] : [];
      const env: Record<string, string> = by === 'flag' ? {} : { STRATA_DSPARK_KEEP: `${counts}:2` };
      const { engine, ready } = await Strata.start(['--model', model, ...COMMON, ...knobs], env);
      await using _ = engine;
      const done = [await engine.generate(bodies[0] as Json), await engine.generate(bodies[1] as Json)];
      expect(said({ ready, done })).toEqual(said(base));
      expect(ready.knobs['keep']).toBe(`${counts}:2`);
      expect(ready.sizes['draft_expert_bytes']).toBe(Number(base.ready.sizes['draft_expert_bytes']) / 2);
      expect(ready.load.read_bytes).toBeLessThan(base.ready.load.read_bytes);
      const bytes = (all: readonly Done[]): number =>
        all.reduce((most, { counters }) => most + counters.draft.bytes / counters.passes, 0);
      expect(bytes(done)).toBeLessThan(bytes(base.done));
    },
  );

  test.each([
    ['192', 'stage 0 has 4 entries, fewer than the 192 to keep'],
    ['1', 'stage 0 has 4 entries and routes each row to 2 experts, more than the 1 to keep'],
  ])('%s of them is exit 2 with file, stage, entries and the number', (keep, why) => {
    const { code, stderr } = runStrata(['--model', model, '--keep', `${counts}:${keep}`]);
    expect(stderr).toBe(`rota-strata: --keep ${counts}:${keep}: ${why}\n`);
    expect(code).toBe(2);
  });

  test.each([
    [
      ['--keep', 'counts.txt'],
      '--keep: "counts.txt" is not FILE:K: a counts file and how many experts to keep',
    ],
    [['--keep', '/nowhere:2'], '--keep: /nowhere: cannot open: No such file or directory'],
    [
      ['--keep', '/nowhere:2', '--depth', '0'],
      '--keep: nothing drafts here: it needs a DSpark sidecar, and neither --depth 0 nor --draft-oracle',
    ],
  ])('%j is exit 2', (args, why) => {
    expect(runStrata(['--model', model, ...args])).toMatchObject({
      code: 2,
      stderr: `rota-strata: ${why}\n`,
    });
  });
});
