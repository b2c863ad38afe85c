import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { altered } from '../results/altered.ts';
import { type Bench, createBench, protocol } from './helpers/rota.ts';

/** Sessions of a seeded fake engine: 8 blocks, ln of two sessions' ratio spreads by 1 %, the margin is 2 %. */
const SESSIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  baseline: { FAKE_SEED: '1' },
  same: { FAKE_SEED: '2' },
  slower: { FAKE_SEED: '3', FAKE_SLOWER: '0.05' },
  changed: { FAKE_SEED: '4', FAKE_SHIFT: '1' },
};

let bench: Bench;
const runs: Record<string, string> = {};

beforeAll(async () => {
  bench = createBench();
  bench.write('eight.yaml', {
    prompts: Array.from({ length: 8 }, (_, i) => ({ text: `One of eight, that is number ${i}.` })),
    warmup: [{ text: 'First of all.' }, { text: 'And then.' }],
  });
  const noisy = (rate: number) => ({ play: 'noisy', rate });
  bench.write(
    'gated.yaml',
    protocol({
      name: 'gated',
      arms: { base: noisy(2000), fast: noisy(3000) },
      blocks: 8,
      margin: 0.02,
      workloads: [{ class: 'prose', prompts: 'eight.yaml', perBlock: 1, maxNew: 8 }],
      warmup: { floorPromptsPerClass: 0, floorTokens: 0, windows: 3, capRequests: 1, capSeconds: 5 },
    }),
  );
  await Promise.all(
    Object.entries(SESSIONS).map(async ([name, env]) => {
      const { stderr, exitCode } = await bench.rotaWith(env, 'run', 'gated.yaml', '--share-machine');
      expect(exitCode, stderr).toBe(0);
      runs[name] = /^run folder: (.*)$/m.exec(stderr)?.[1] ?? '';
    }),
  );
}, 240_000);
afterAll(() => bench.remove());

const gate = (name: string, ...argv: string[]) =>
  bench.rota('gate', runs[name] ?? '', '--against', runs['baseline'] ?? '', ...argv);

const lastLine = (text: string): string =>
  (text.trimEnd().split('\n').at(-1) ?? '').replaceAll(/\d{4}-\d\d-\S+-[0-9a-f]{6}/g, 'RUN');

describe('rota gate', () => {
  it('passes the same engine again', async () => {
    const { exitCode, stdout } = await gate('same');
    expect(stdout).toMatch(/base +prose +tok\/s +pass/);
    expect(lastLine(stdout)).toMatchInlineSnapshot(
      `"VERDICT pass exit=0 margin=2% run=RUN baseline=RUN: tok/s not slower by 2 % in 2 cells, 12 exact rules kept"`,
    );
    expect(exitCode).toBe(0);
  });

  it('fails one that is 5 % slower, at a margin of 2 %, and passes it at one of 10 %', async () => {
    const { exitCode, stdout } = await gate('slower');
    expect(lastLine(stdout)).toMatch(
      /^VERDICT fail exit=1 margin=2% run=RUN baseline=RUN: base · prose · tok\/s: 0\.9[45]/,
    );
    expect(exitCode).toBe(1);
    expect((await gate('slower', '--margin', '10%')).exitCode).toBe(0);
  });

  it('fails another output however fast, unless each rule is allowed by name', async () => {
    const { exitCode, stdout } = await gate('changed', '--json');
    const { checks, outcome } = JSON.parse(stdout);
    const failed = checks.filter((check: { outcome: string }) => check.outcome === 'fail');
    expect([exitCode, outcome]).toEqual([1, 'fail']);
    expect(new Set(failed.map((check: { rule: string }) => check.rule))).toEqual(new Set(['ids', 'prefill']));
    expect((await gate('changed', '--allow', 'ids')).exitCode).toBe(1);
    expect((await gate('changed', '--allow', 'ids', '--allow', 'prefill')).exitCode).toBe(0);
  });

  it('refuses to compare other protocols, and names the difference', async () => {
    bench.write('other.yaml', protocol({ name: 'other', seed: 2 }));
    const { stderr } = await bench.rota('run', 'other.yaml', '--share-machine');
    const other = /^run folder: (.*)$/m.exec(stderr)?.[1] ?? '';
    const { exitCode, stdout } = await bench.rota('gate', other, '--against', runs['baseline'] ?? '');
    expect(lastLine(stdout)).toMatch(/^VERDICT refused exit=3 .*: not comparable: other protocol: /);
    expect(exitCode).toBe(3);
  });

  it('believes no record that was altered', async () => {
    const journal = join(runs['same'] ?? '', 'journal.jsonl');
    using _ = altered(journal, (text) => text.replace('"tokens":8', '"tokens":9'));
    const { exitCode, stderr } = await gate('same');
    expect([exitCode, stderr.split('\n').length]).toEqual([5, 1]);
  });

  it('writes JUnit, and on GitHub one annotation and a summary', async () => {
    const summary = bench.write('summary.md', 'before\n');
    const junit = bench.path('gate.xml');
    const env = { GITHUB_ACTIONS: 'true', GITHUB_STEP_SUMMARY: summary };
    const argv = ['gate', runs['slower'] ?? '', '--against', runs['baseline'] ?? '', '--junit', junit];
    const { stdout, stderr } = await bench.rotaWith(env, ...argv);
    expect(lastLine(stdout)).toMatch(/^VERDICT fail /);
    expect(stderr.split('\n')).toHaveLength(1);
    expect(stderr).toMatch(/^::error title=rota gate%3A fail::VERDICT fail exit=1 margin=2%25 /);
    expect(readFileSync(summary, 'utf8')).toMatch(/^before\n## rota gate: fail\n/);
    const xml = readFileSync(junit, 'utf8');
    expect(xml).toMatch(/<testsuite name="tok\/s" tests="2" failures="2" errors="0" skipped="0">/);
    expect(xml).toMatch(/<property name="upper" value="0\.9\d+"\/>/);
    const { exitCode } = await gate('same', '--junit', bench.path('no/such/folder.xml'));
    expect(exitCode).toBe(2);
  });

  it('takes no rule and no margin that it does not know', async () => {
    const said = await Promise.all([
      gate('same', '--margin', '3'),
      gate('same', '--allow', 'speed'),
      bench.rota('gate', 'latest'),
    ]);
    expect(said.map(({ exitCode, stderr }) => `${exitCode}: ${stderr}`)).toMatchInlineSnapshot(`
      [
        "2: rota: option '--margin <share>' argument '3' is invalid. expected a share between 0 and 1, such as 2% or 0.02; see rota gate --help",
        "2: rota: option '--allow <rule[=share]>' argument 'speed' is invalid. "speed" is no exact rule; valid: ids, prefill, passes, tokens-per-pass, lookups, memory; see rota gate --help",
        "2: rota: required option '--against <baseline>' not specified; see rota gate --help",
      ]
    `);
  });
});
