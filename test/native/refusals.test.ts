// What strata refuses before it serves: one line that says what, where and what to do, and the exit code of its kind.

import { readFileSync, truncateSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parseDescriptor } from '../../src/schema/descriptor.ts';
import { runStrata, synthesise } from './helpers/strata.ts';
import { withModel } from './helpers/workspace.ts';

const { folder, model } = withModel('mini-xs');

test.each([
  [['--sloots', '1MiB'], 2, 'unknown flag --sloots; did you mean --slots?'],
  [['--frobnicate'], 2, 'unknown flag --frobnicate; --help lists the flags'],
  [['slots'], 2, 'unexpected argument "slots": flags begin with --'],
  [['--slots'], 2, '--slots needs a value: --slots SIZE'],
  [
    ['--slots', '64'],
    2,
    '--slots: "64" has no unit: write 64x for a count of experts, 64MiB, 64GiB or a share such as 25%',
  ],
  [['--slots', '1%', '--slots=2%'], 2, '--slots is given twice, as "1%" and as "2%": keep one of them'],
  [['--slots', '120%'], 2, '--slots: "120%" is more than 100%'],
  [
    ['--arena', '5MB'],
    2,
    '--arena: "5MB": unknown unit "MB": such as 25%, 4288x (experts), 512MiB, 1.5GiB or 0',
  ],
  [['--pcie', '1.5'], 2, '--pcie: 1.5 is not in 0..1'],
  [['--depth', 'five'], 2, '--depth: "five" is not a whole number'],
  [['--huge-pages', 'yes'], 2, '--huge-pages: "yes" is neither on nor off'],
  [
    ['--device', 'cuda:0'],
    3,
    '--device cuda:0: no CUDA device: this build computes on the host only; use --device host',
  ],
  [['--device', 'gpu'], 2, '--device: "gpu" is unknown: host or cuda:N'],
  [['--kv', 'f64'], 2, '--kv: "f64" is unknown: f32, f16 or packed'],
  [
    ['--kv', 'packed', '--kv-quant', 'off'],
    2,
    '--kv packed holds the codes of --kv-quant: turn that on, or take --kv f16',
  ],
  [
    ['--draft-accept', '0.5', '--dump-routes', '/tmp/r'],
    2,
    '--draft-accept and --dump-routes exclude each other',
  ],
  [['--draft-corrupt', '2'], 2, '--draft-corrupt needs --draft-oracle FILE'],
  [['--rank', '/tmp'], 2, '--rank: /tmp: is a folder; name a file'],
  [['--rank', '/dev/zero'], 2, '--rank: /dev/zero: is no regular file'],
  [['--draft-oracle', '/tmp'], 2, '--draft-oracle: /tmp: is a folder; name a file'],
  [['--keep', '/tmp:3'], 2, '--keep: /tmp: is a folder; name a file'],
  [['--rank', '/nowhere'], 2, '--rank: /nowhere: cannot open: No such file or directory'],
  [['--depth', '6'], 2, "--depth 6: this model's drafter drafts at most 5"],
  [['--dump-routes', '/nowhere/r'], 2, '--dump-routes /nowhere/r: cannot write: No such file or directory'],
  [['--renorm-skip', 'on'], 2, '--renorm-skip needs --skip-miss T or --skip-file T'],
  [['--ledger', '/nowhere/l.jsonl'], 2, '--ledger /nowhere/l.jsonl: cannot write: No such file or directory'],
])('%j ends with %i', (args, code, message) => {
  const exit = runStrata(['--model', model, ...args]);
  expect(exit.stderr.trimEnd().split('\n').at(-1)).toBe(`rota-strata: ${message}`);
  expect(exit.code).toBe(code);
});

test('no model is exit 2, a model that is not there exit 3', () => {
  expect(runStrata([])).toMatchObject({
    code: 2,
    stderr: 'rota-strata: --model PATH is missing (--help shows an example)\n',
  });
  const { code, stderr } = runStrata(['--model', '/nowhere.gguf']);
  expect(code).toBe(3);
  expect(stderr).toMatch(/^rota-strata: \/nowhere\.gguf: .+\n$/);
});

test('a truncated GGUF is one line and exit 3', () => {
  const cut = synthesise(folder.path, 'mini-xs2');
  truncateSync(cut, Math.floor(readFileSync(cut).length / 2));
  const { code, stderr, stdout } = runStrata(['--model', cut, '--depth', '0']);
  expect(code).toBe(3);
  expect(stderr).toMatch(/^rota-strata: .*mini-xs2\.gguf: [^\n]+\n$/);
  expect(stdout).not.toContain('"ready"');
});

test.each(['2000000000', '2147483647'])(
  'a context of %s is exit 4 with the parts, what there is and the knob',
  (ctx) => {
    const { code, stderr } = runStrata(['--model', model, '--ctx', ctx]);
    expect(code).toBe(4);
    expect(stderr).toMatch(
      /^rota-strata: out of memory: asked [\d.]+ GiB \(.*context [\d.]+ GiB\), available [\d.]+ \w+ by .+; lower --ctx/,
    );
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  },
);

test('ROTA_CPU that is no name is one line and exit 2', () => {
  const { code, stderr } = runStrata(['--model', model], '', { ROTA_CPU: 'sse' });
  expect(code).toBe(2);
  expect(stderr).toBe("rota-strata: ROTA_CPU='sse': expected portable, avx2, avx512 or auto\n");
});

test('--help and --version are answers, not errors', () => {
  expect(runStrata(['--version'])).toMatchObject({ code: 0, stdout: 'rota-strata 0.1.0\n', stderr: '' });
  const help = runStrata(['--help']);
  expect(help.code).toBe(0);
  expect(help.stdout).toContain('Example:');
});

test('the descriptor and --help know the same flags', () => {
  const file = path.resolve(import.meta.dirname, '../../engines/strata.yaml');
  const { descriptor } = parseDescriptor(readFileSync(file, 'utf8'), 'engines/strata.yaml');
  const described = Object.values(descriptor.knobs).flatMap(({ flag }) => flag ?? []);
  const offered = [...runStrata(['--help']).stdout.matchAll(/^ {2}(--[a-z-]+) /gm)].map(([, flag]) => flag);
  const own = ['--model', '--help', '--version'];
  expect(described.sort()).toEqual(offered.filter((flag) => !own.includes(flag ?? '')).sort());
});
