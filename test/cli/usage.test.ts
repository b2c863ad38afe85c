import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bench, createBench, protocol } from './helpers/rota.ts';

let bench: Bench;
beforeAll(() => {
  bench = createBench();
});
afterAll(() => bench.remove());

/** Exit code and what stderr said. */
async function refused(...argv: string[]): Promise<string> {
  const { exitCode, stderr, stdout } = await bench.rota(...argv);
  expect(stdout).toBe('');
  return `${exitCode}: ${bench.steady(stderr)}`;
}

describe('a mistake is one line and exit 2', () => {
  it('in the words of the command line', async () => {
    const said = await Promise.all([
      refused('rnu'),
      refused('run'),
      refused('run', 'tiny.yaml', '--plna'),
      refused('ab', 'fake', 'model.gguf', '-a', '', '-b', '--rat 3'),
      refused('ab', 'fake', 'model.gguf', '-a', '', '-b', '--rate'),
      refused('ab', 'fake', 'model.gguf', '-a', '', '-b', '--rate 0'),
      refused('ask', 'fake', 'hello', '--max-new', 'many'),
      refused('ask', 'fake', 'hello', '-k', 'rate'),
      refused('ask', 'fake', 'hello', '--model', 'synth:mini-s:x'),
      refused('ask', 'fake', 'hello', '--model', 'none.gguf'),
      refused('which', 'fakes'),
      refused('engines', 'vllm'),
      refused('report', 'latest', '--json', '--markdown'),
      refused('report', 'yesterday'),
      refused('run', 'none.yaml'),
    ]);
    expect(said).toMatchInlineSnapshot(`
      [
        "2: rota: unknown command 'rnu'; did you mean run?",
        "2: rota: missing required argument 'protocol'; see rota run --help",
        "2: rota: unknown option '--plna'; did you mean --plan?",
        "2: rota: -b: fake has no flag "--rat"; did you mean "--rate"?",
        "2: rota: -b: --rate needs a value; tokens a second",
        "2: rota: -b: rate: must be at least 1, got 0",
        "2: rota: option '--max-new <count>' argument 'many' is invalid. expected a whole number from 1; see rota ask --help",
        "2: rota: -k: "rate" is no knob; write NAME=VALUE, such as threads=2",
        "2: rota: "synth:mini-s:x" is no synthetic model; write synth:CONFIG:SEED, such as synth:mini-s:1",
        "2: none.gguf: no such model; name a file or folder that exists",
        "2: rota: there is no engine "fakes"; did you mean "fake"?",
        "2: rota: there is no engine "vllm"; valid: fake",
        "2: rota: option '--json' cannot be used with option '--markdown'; see rota report --help",
        "2: <bench>/results: there are no results yet; rota run PROTOCOL makes some",
        "2: none.yaml: there is no such file",
      ]
    `);
  });

  it('in a protocol, with file, line, column and the right name', async () => {
    bench.write('misspelt.yaml', protocol({ arms: { base: {}, fast: { rte: 3000 } } }));
    bench.write('twins.yaml', protocol({ arms: { base: { rate: 2000 }, fast: { rate: 2000 } } }));
    bench.write('nomodel.yaml', protocol({ model: 'gone.gguf' }));
    expect([
      await refused('run', 'misspelt.yaml'),
      await refused('run', 'twins.yaml'),
      await refused('run', 'nomodel.yaml'),
    ]).toMatchInlineSnapshot(`
      [
        "2: misspelt.yaml:8:5: arms.fast.rte: the engine has no such knob; did you mean "rate"?",
        "2: twins.yaml:8:3: arms.fast: resolves to the same command line and environment as base; change a knob of one of them, or remove one",
        "2: <bench>/gone.gguf: no such model; name a file or folder that exists",
      ]
    `);
  });
});

describe('help', () => {
  it('is there for every command, with an example', async () => {
    const { stdout } = await bench.rota('--help');
    const commands = [...(stdout.split('Commands:')[1] ?? '').matchAll(/^ {2}([a-z]+) /gm)].map(
      (match) => match[1] ?? '',
    );
    const own = commands.filter((name) => name !== 'help' && name !== 'rota');
    expect(own.length).toBeGreaterThanOrEqual(11);
    const helps = await Promise.all(own.map((name) => bench.rota(name, '--help')));
    for (const help of helps) {
      expect(help.exitCode).toBe(0);
      expect(help.stdout).toMatch(/Examples?:\n {2}rota /);
    }
  });

  it('answers an empty command line on stderr, and nothing was done', async () => {
    const { exitCode, stdout, stderr } = await bench.rota();
    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toContain('Usage: rota');
  });

  it('prints the version', async () => {
    expect((await bench.rota('--version')).stdout).toMatch(/^\d+\.\d+\.\d+$/);
  });
});

describe('commands that only look', () => {
  it('doctor', async () => {
    const { stdout } = await bench.rota('doctor', '--json');
    const names = JSON.parse(stdout).findings.map((finding: { name: string }) => finding.name);
    expect(names).toContain('page cache');
    const { stdout: lines } = await bench.rotaWith({ ROTA_CPU: 'portable' }, 'doctor');
    expect(lines).toMatch(/^(ok|missing) +compiler/);
    expect(lines).toMatch(/^warn +environment +ROTA_CPU would set knobs: .*\n +remedy: unset ROTA_CPU$/m);
  });

  it('engines, and the knobs of one', async () => {
    expect((await bench.rota('engines')).stdout).toMatchInlineSnapshot(`"fake  n/a  plays an engine"`);
    expect((await bench.rota('engines', 'fake')).stdout).toMatchInlineSnapshot(`
      "fake: plays an engine

      knob   values      default  effect  what it does
      play   string      steady   exact   what it plays
      rate   number 1..  2000     exact   tokens a second · also FAKE_RATE
      shift  int 0..     0        lossy   added to every token id

      exact: the output stays, to the last bit · lossy: what the model says may change"
    `);
    expect(JSON.parse((await bench.rota('engines', '--json')).stdout).engines[0]).toMatchObject({
      name: 'fake',
      built: null,
    });
  });

  it('which', async () => {
    expect((await bench.rota('which', 'fake')).stdout).toBe(process.execPath);
    bench.write(
      'engines/missing.yaml',
      (await engineYaml()).replace('name: fake', 'name: missing\nbinary: no/such/program'),
    );
    const { exitCode, stderr } = await bench.rota('which', 'missing');
    expect(`${exitCode}: ${bench.steady(stderr)}`).toMatchInlineSnapshot(
      `"3: rota: missing is not built; there is no <root>/no/such/program"`,
    );
  });

  it('results, when there are none', async () => {
    expect((await bench.rota('results')).stdout).toBe('no results yet');
    expect(JSON.parse((await bench.rota('results', '--json')).stdout)).toEqual({ results: [] });
  });
});

async function engineYaml(): Promise<string> {
  const { readFileSync } = await import('node:fs');
  return readFileSync(bench.path('engines/fake.yaml'), 'utf8');
}
