import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { altered } from '../results/altered.ts';
import { type Bench, createBench, protocol } from './helpers/rota.ts';

let bench: Bench;
beforeAll(() => {
  bench = createBench();
});
afterAll(() => bench.remove());

const SHARE = '--share-machine';

async function report(...argv: string[]) {
  const { stdout, exitCode } = await bench.rota('report', 'latest', '--json', ...argv);
  return { exitCode, ...JSON.parse(stdout) };
}

describe('rota run', () => {
  it('prints the plan and stops', async () => {
    const { exitCode, stdout } = await bench.rota('run', 'tiny.yaml', '--plan');
    expect(exitCode).toBe(0);
    expect(stdout).toContain('2 arms');
    bench.write('alias.yaml', protocol({ arms: { base: {}, fast: { FAKE_RATE: 3000 } } }));
    const plan = JSON.parse((await bench.rota('run', 'alias.yaml', '--plan', '--json')).stdout);
    expect(plan.runs).toHaveLength(4);
    expect(plan.arms[1].argv.slice(-2)).toEqual(['--rate', '3000']);
    expect(() => readdirSync(bench.path('results'))).toThrow();
  });

  it('starts every arm and stops', async () => {
    const good = await bench.rotaWith({ FAKE_RATE: '1' }, 'run', 'tiny.yaml', '--smoke', SHARE);
    expect(good.exitCode).toBe(0);
    expect(good.stderr).toContain('note: kept from the engine, for only an arm sets knobs: FAKE_RATE (rate)');
    expect(good.stdout.replace(/\d+\.\d s/g, 'N s')).toMatchInlineSnapshot(`
      "ok    base: ready in N s, 16 tokens
      ok    fast: ready in N s, 16 tokens"
    `);
    bench.write(
      'broken.yaml',
      protocol({ arms: { base: { play: 'steady' }, bad: { play: 'crash-at-load' } } }),
    );
    const bad = await bench.rota('run', 'broken.yaml', '--smoke', '--json', SHARE);
    expect(bad.exitCode).toBe(3);
    expect(
      JSON.parse(bad.stdout).smoke.map((arm: { problem: string | null }) => arm.problem),
    ).toMatchInlineSnapshot(`
      [
        null,
        "the engine ended while it should get ready: exit code 3",
      ]
    `);
  });

  it('measures, prints the verdict on stdout and one line a run on stderr', async () => {
    const { exitCode, stdout, stderr } = await bench.rota('run', 'tiny.yaml', SHARE);
    expect(stderr).toMatch(/^run folder: /m);
    expect(stderr.match(/^run \d\/4 · block \d\/2 · arm (base|fast) \(\d\/2\)/gm)).toHaveLength(4);
    expect(stdout).toContain('same output');
    expect(stdout).not.toContain('\u001b');
    expect(exitCode).toBe(0);
  });

  it('is reported again as table, JSON and Markdown', async () => {
    expect((await bench.rota('report')).stdout).toContain('same output');
    expect((await bench.rota('report', '--markdown')).stdout).toMatch(/^## tiny$/m);
    expect((await bench.rota('report', '--ascii')).stdout).toMatch(/^[\x20-\x7e\n]*$/);
    const written = (await bench.rota('report', 'latest', '--html')).stdout;
    expect(readFileSync(written, 'utf8')).toMatch(/^<!doctype html>[\s\S]*id="effects"/);
    expect((await bench.rota('report', '--html', bench.path('no/such/page.html'))).exitCode).toBe(2);
    const { arms, runs, exitCode } = await report();
    expect(exitCode).toBe(0);
    expect(runs).toHaveLength(4);
    expect(arms.map((arm: { arm: string; output: string }) => `${arm.arm} ${arm.output}`)).toEqual([
      'base L0',
      'fast L0',
    ]);
    const [listed] = JSON.parse((await bench.rota('results', '--json')).stdout).results;
    expect(listed).toMatchObject({ protocol: 'tiny', state: 'complete', runsOk: 4 });
    expect((await bench.rota('results', '-n', '1')).stdout).toContain('4/4 runs');
    expect((await bench.rota('results', '--history')).stdout).toMatch(
      /^tiny +prose +fast +1 runs .*no change found$/m,
    );
    const { tried } = JSON.parse((await bench.rota('results', '--tried', '--json')).stdout);
    expect(Array.isArray(tried)).toBe(true);
  });

  it('recomputes the verdict byte for byte, and finds an altered journal', async () => {
    const [name = ''] = readdirSync(bench.path('results'));
    const folder = bench.path(join('results', name));
    const before = readFileSync(join(folder, 'verdict.json'));
    expect((await bench.rota('report', 'latest', '--recompute')).exitCode).toBe(0);
    expect(readFileSync(join(folder, 'verdict.json')).equals(before)).toBe(true);
    const journal = join(folder, 'journal.jsonl');
    using _ = altered(journal, (text) => text.replace('"tokens":8', '"tokens":9'));
    const { exitCode, stderr } = await bench.rota('report', 'latest', '--recompute');
    expect([exitCode, stderr.split('\n').length]).toEqual([5, 1]);
  });

  it('takes no file for a bug of its own, whatever was made of it', async () => {
    const [name = ''] = readdirSync(bench.path('results'));
    for (const file of ['verdict.json', 'plan.json']) {
      const path = bench.path(join('results', name, file));
      const good = readFileSync(path, 'utf8');
      for (const bad of ['{}', '[]', 'null', '7', '', good.replace('"arms":', '"arm":')]) {
        writeFileSync(path, bad);
        const { exitCode, stderr } = await bench.rota('report', name);
        expect([file, bad.slice(0, 9), exitCode, stderr.split('\n').length]).toEqual([
          file,
          bad.slice(0, 9),
          5,
          1,
        ]);
      }
      writeFileSync(path, good);
    }
  }, 60_000);

  it('says that a lossy arm changed its output', async () => {
    bench.write('lossy.yaml', protocol({ name: 'lossy', arms: { base: {}, bent: { shift: 1 } } }));
    const { stdout, stderr } = await bench.rota('run', 'lossy.yaml', SHARE);
    expect(stdout).toContain('[lossy: shift] changed output');
    expect(stdout).toMatch(/L3 lossy/);
    expect(stderr).toContain('arm bent [lossy: shift] (');
    expect(stderr.replace(/\n +/g, ' ')).toMatch(/^bent .*\[lossy: shift\]$/m);
  });
});

describe('rota ab', () => {
  it('needs no protocol file', async () => {
    const { stdout, exitCode } = await bench.rota(
      'ab',
      'fake',
      'model.gguf',
      '-a',
      '',
      '-b',
      '--rate 4000 --shift=1',
      '--plan',
      '--json',
    );
    expect(exitCode).toBe(0);
    const plan = JSON.parse(stdout);
    expect(plan.arms.map((arm: { name: string; knobs: object }) => [arm.name, arm.knobs])).toEqual([
      ['A', {}],
      ['B', { rate: 4000, shift: 1 }],
    ]);
    expect(plan.workloads.map((workload: { class: string }) => workload.class)).toEqual([
      'enumeration',
      'prose',
      'code',
    ]);
  });

  it('measures nothing when both are the same', async () => {
    const { stderr, exitCode } = await bench.rota(
      'ab',
      'fake',
      'model.gguf',
      '-a',
      '--rate 9',
      '-b',
      '--rate=9',
      '--plan',
    );
    expect(exitCode).toBe(2);
    expect(stderr).toContain('same command line and environment');
  });
});

describe('rota ab with overrides', () => {
  const ab = (...words: string[]) =>
    bench.rota('ab', 'fake', 'model.gguf', '-a', '', '-b', '', '--plan', '--json', ...words);

  it('gives an arm other weights, sampling or another program, and names each', async () => {
    bench.write('other.gguf', readFileSync(bench.path('model.gguf')));
    const word = 'model: other.gguf\nsampling: {temperature: 0.7, seed: 3}';
    const { stdout, exitCode } = await ab('--override-b', word);
    expect(exitCode).toBe(0);
    const [a, b] = JSON.parse(stdout).arms;
    expect(a.overrides ?? []).toEqual([]);
    expect(b.overrides).toEqual(['model other.gguf', 'temperature 0.7', 'seed 3']);
    expect(b.sampling).toEqual({ temperature: 0.7, topP: 1, seed: 3 });
    expect(b.argv).toContain(bench.path('other.gguf'));
    const baseline = JSON.parse((await ab('--override-a', 'sampling: {topP: 0.9}')).stdout).arms;
    expect(baseline[0].overrides).toEqual(['top-p 0.9']);
    expect(baseline[1].overrides ?? []).toEqual([]);
  });

  it('parses the flags of another engine by its own descriptor', async () => {
    const descriptor = readFileSync(bench.path('engines/fake.yaml'), 'utf8');
    bench.write(
      'engines/twin.yaml',
      descriptor.replace('name: fake', 'name: twin').replace('--rate', '--speed'),
    );
    const words = ['--override-b', 'engine: twin', '--plan', '--json'];
    const plan = (flags: string) => bench.rota('ab', 'fake', 'model.gguf', '-a', '', '-b', flags, ...words);
    const [, b] = JSON.parse((await plan('--speed 9')).stdout).arms;
    expect([b.overrides, b.argv.slice(-2)]).toEqual([['engine twin'], ['--speed', '9']]);
    expect((await plan('--rate 9')).stderr).toContain('twin has no flag "--rate"');
  });

  it.each([
    ['sampling: {temperature: -1}', /^rota: --override-b:1:25: sampling\.temperature: /],
    ['modle: x', /^rota: --override-b:1:1: modle: unknown key; did you mean "model"\?$/],
    ['seven', /^rota: --override-b:1:1: expected a map, got "seven"$/],
    ['', /^rota: --override-b:1:1: expected a map, got nothing/],
    ['model: synth:mini-s:x', /"synth:mini-s:x" is no synthetic model/],
  ])('says where %j is wrong', async (word, message) => {
    const { exitCode, stderr } = await ab('--override-b', word);
    expect([exitCode, stderr.split('\n').length]).toEqual([2, 1]);
    expect(stderr).toMatch(message);
  });
});

describe('an interrupted run', () => {
  it('ends cleanly on a signal, says how to go on, and is finished by resume', async () => {
    bench.write('slow.yaml', protocol({ name: 'slow', arms: { base: { rate: 20 }, fast: { rate: 30 } } }));
    const run = bench.rota('run', 'slow.yaml', SHARE);
    await new Promise<void>((resolve) => {
      run.stderr.on('data', (chunk: Buffer) => {
        if (chunk.toString().includes('run 2/4')) resolve();
      });
    });
    run.kill('SIGINT');
    const interrupted = await run;
    expect(interrupted.exitCode).toBe(130);
    expect(interrupted.stderr).toMatch(
      /interrupted; every finished run is kept\. Go on with:\n {2}rota resume \S+-slow-/,
    );
    expect((await bench.rota('report', 'latest')).stderr).toContain(
      'has no verdict yet; finish it with: rota resume',
    );
    const resumed = await bench.rota('resume', 'latest', SHARE);
    expect(resumed.exitCode).toBe(0);
    expect(resumed.stderr).toContain('3 of 4 runs are left');
    const { runs } = await report();
    expect(runs.map((each: { status: string }) => each.status)).toEqual(['ok', 'ok', 'ok', 'ok']);
  }, 60_000);
});

describe('rota ask', () => {
  it('prints the answer on stdout and its counters on stderr', async () => {
    const { stdout, stderr, exitCode } = await bench.rota(
      'ask',
      'fake',
      'he said',
      '--model',
      'model.gguf',
      '--max-new',
      '9',
      SHARE,
    );
    expect(exitCode).toBe(0);
    expect(stderr).toMatchInlineSnapshot(
      `"9 tokens (length) | 2000.00 tok/s | 1.13 tokens/pass | first after 1 ms | lookups: 16 hit, 0 pcie, 16 cpu, 0 file, 0 skipped"`,
    );
    const whole = JSON.parse(
      (await bench.rota('ask', 'fake', 'he said', '--model', 'model.gguf', '--max-new', '9', '--json', SHARE))
        .stdout,
    );
    expect(whole.ids).toHaveLength(9);
    expect(stdout).toBe(whole.text.trimEnd());
    expect(whole.prompt[0]).toBe(0);
  });

  it('passes knobs on, and an engine that dies is exit 3 with its last words', async () => {
    const { stderr, exitCode } = await bench.rota(
      'ask',
      'fake',
      'x',
      '--model',
      'model.gguf',
      '-k',
      'play=crash-at-load',
      SHARE,
    );
    expect(exitCode).toBe(3);
    expect(stderr).toMatch(/^rota: the engine ended while it should get ready/);
  });
});
