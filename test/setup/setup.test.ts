import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runLogged, SetupError, step } from '../../bin/setup/command.js';
import { buildFailure, jobs } from '../../bin/setup/native.js';
import { nodeModulesProblem } from '../../bin/setup/node-modules.js';
import {
  aptPrefix,
  ensurePackages,
  missingForFuzz,
  missingMessage,
  missingPackages,
} from '../../bin/setup/packages.js';
import { ensureTypescript, isBuilt } from '../../bin/setup/typescript.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rota-setup-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, text: string): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

type Answer = (argv: readonly string[], input: string) => { code: number; stdout: string };

/** A machine that has what is named: programs, and headers a compiler finds. */
function machine(has: readonly string[], { isRoot = false, cmake = '3.25.1' } = {}) {
  const run: Answer = ([program = '', ...rest], input) => {
    const found = has.includes(program);
    const header = /__has_include\(<(.*)>\)/.exec(input)?.[1];
    if (header !== undefined) return { code: found && has.includes(header) ? 0 : 1, stdout: '' };
    if (program === 'cmake' && rest[0] === '--version')
      return { code: found ? 0 : 127, stdout: `cmake version ${cmake}\n` };
    return { code: found ? 0 : 127, stdout: '' };
  };
  return { run: (argv: readonly string[], input = '') => run(argv, input), isRoot };
}

const ALL = ['c++', 'cmake', 'ninja', 'doctest/doctest.h', 'nlohmann/json.hpp'];
const names = (has: readonly string[], options = {}, env = {}): string[] =>
  missingPackages(machine(has, options), env).map((item) => `${item.package}: ${item.why}`);

describe('Debian packages', () => {
  it('are missed one by one', () => {
    expect(names(ALL)).toEqual([]);
    expect(names(['c++'])).toMatchInlineSnapshot(`
      [
        "cmake: not found",
        "ninja-build: neither ninja nor make",
        "doctest-dev: no <doctest/doctest.h>",
        "nlohmann-json3-dev: no <nlohmann/json.hpp>",
      ]
    `);
    expect(names([])).toContain('g++: no compiler that understands C++20');
    expect(names(ALL.map((name) => (name === 'ninja' ? 'make' : name)))).toEqual([]);
    expect(names(ALL.map((name) => (name === 'c++' ? 'clang++' : name)))).toEqual([]);
  });

  it('for fuzzing are clang and its libFuzzer besides', () => {
    const wanted = (has: readonly string[]) =>
      missingForFuzz(machine(has), {}).map((item) => `${item.package}: ${item.why}`);
    expect(wanted([...ALL, 'clang++'])).toEqual([]);
    expect(wanted(ALL)).toEqual([
      'clang: no clang++',
      'libclang-rt-dev: no libFuzzer and no sanitizers for clang++',
    ]);
  });

  it('must be new enough', () => {
    expect(names(ALL, { cmake: '3.16.3' })).toEqual(['cmake: version 3.16 is older than 3.22']);
    expect(names(ALL, { cmake: '3.22.0' })).toEqual([]);
    expect(names(ALL, { cmake: '4.0.1' })).toEqual([]);
  });

  it('may be replaced by the compiler and the headers folder of the user', () => {
    write('doctest/doctest.h', '');
    expect(names(ALL.slice(0, 3), {}, { ROTA_HEADERS_DIR: folder })).toEqual([
      'nlohmann-json3-dev: no <nlohmann/json.hpp>',
    ]);
    expect(names(ALL, {}, { CXX: 'g++-14' })).toContain('g++: no compiler that understands C++20');
  });

  it('are installed by root, or with sudo that asks nothing, where there is apt-get', () => {
    write('apt-get', '');
    expect(aptPrefix(machine([], { isRoot: true }), folder)).toEqual([]);
    expect(aptPrefix(machine(['sudo']), `/nowhere:${folder}`)).toEqual(['sudo', '-n']);
    expect(aptPrefix(machine([]), folder)).toBeUndefined();
    expect(aptPrefix(machine(['sudo'], { isRoot: true }), '/nowhere')).toBeUndefined();
  });

  it('are named with one command where they may not be installed', async () => {
    const options = { env: { PATH: '/nowhere' }, logFolder: folder, say: () => {} };
    const failed = ensurePackages(machine(['c++', 'cmake', 'ninja']), options);
    await expect(failed).rejects.toBeInstanceOf(SetupError);
    await expect(failed).rejects.toThrowErrorMatchingInlineSnapshot(`
      [Error: missing Debian packages: doctest-dev (no <doctest/doctest.h>), nlohmann-json3-dev (no <nlohmann/json.hpp>).
      This user may not install packages here. Install them with:
        sudo apt-get update && sudo apt-get install -y --no-install-recommends doctest-dev nlohmann-json3-dev]
    `);
  });

  it('are installed without a question, once, and looked for again', async () => {
    const has = ['c++', 'cmake', 'ninja', 'doctest/doctest.h'];
    write('bin/apt-get', `#!/bin/sh\necho "$DEBIAN_FRONTEND $*" >> ${folder}/calls\n`);
    chmodSync(join(folder, 'bin/apt-get'), 0o755);
    const said: string[] = [];
    const path = `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`;
    const saved = process.env['PATH'];
    process.env['PATH'] = path;
    try {
      const options = { env: { PATH: path }, logFolder: folder, say: (line: string) => said.push(line) };
      await expect(ensurePackages(machine(has, { isRoot: true }), options)).rejects.toThrow(
        /apt-get could not install them/,
      );
      let asked = 0;
      const before = machine(has, { isRoot: true });
      const after = machine(ALL, { isRoot: true });
      const healed = {
        isRoot: true,
        run: (argv: readonly string[], input = '') => {
          asked += 1;
          return (asked > 6 ? after : before).run(argv, input);
        },
      };
      await ensurePackages(healed, options);
    } finally {
      process.env['PATH'] = saved;
    }
    const calls = readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n');
    expect(calls).toHaveLength(4);
    expect(calls[1]).toBe(
      'noninteractive -o DPkg::Lock::Timeout=300 install -y --no-install-recommends nlohmann-json3-dev',
    );
    expect(said.at(-1)).toMatch(/^Debian packages: \d+\.\d s$/);
  });

  it('a machine without apt that works is told what apt-get said', () => {
    expect(missingMessage([{ package: 'cmake', why: 'not found' }], 'Because.')).toMatchInlineSnapshot(`
      "missing Debian packages: cmake (not found).
      Because. Install them with:
        sudo apt-get update && sudo apt-get install -y --no-install-recommends cmake"
    `);
  });
});

describe('node_modules', () => {
  const lock = (packages: object): string => JSON.stringify({ packages: { '': {}, ...packages } });
  const a = { version: '1.0.0', integrity: 'sha512-a' };

  it('is what the lock file asks for, or the difference is named', () => {
    expect(nodeModulesProblem(folder)).toBe('there is no package-lock.json');
    write(
      'package-lock.json',
      lock({ 'node_modules/a': a, 'node_modules/b-darwin': { ...a, optional: true } }),
    );
    expect(nodeModulesProblem(folder)).toBe('there are none');
    write('node_modules/.package-lock.json', lock({}));
    expect(nodeModulesProblem(folder)).toBe('node_modules/a is missing');
    write('node_modules/.package-lock.json', lock({ 'node_modules/a': a }));
    expect(nodeModulesProblem(folder)).toBe('node_modules/a is missing');
    mkdirSync(join(folder, 'node_modules/a'));
    expect(nodeModulesProblem(folder)).toBeUndefined();
    write('node_modules/.package-lock.json', lock({ 'node_modules/a': { ...a, version: '0.9.0' } }));
    expect(nodeModulesProblem(folder)).toBe('node_modules/a is 0.9.0, not 1.0.0');
    write('node_modules/.package-lock.json', '{');
    expect(nodeModulesProblem(folder)).toBe('there are none');
  });

  it('of this checkout is in order', () => {
    expect(nodeModulesProblem(ROOT)).toBeUndefined();
  });
});

describe('dist/', () => {
  const said: string[] = [];
  const options = () => ({ logFolder: join(folder, 'logs'), say: (line: string) => said.push(line) });
  beforeEach(() => {
    said.length = 0;
    for (const name of ['tsconfig.json', 'package-lock.json', 'src/tsconfig.json'])
      cpSync(join(ROOT, name), join(folder, name));
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    write('package.json', '{ "type": "module" }');
    write('src/core/one.ts', 'export const one: number = 1;\n');
    write('src/core/two.ts', "import { one } from './one.ts';\nexport const two = one + 1;\n");
  });

  it('is built when a source changed in content, and only then', async () => {
    await ensureTypescript(folder, options());
    expect(readFileSync(join(folder, 'dist/core/two.js'), 'utf8')).toMatch(/from ["']\.\/one\.js["']/);
    utimesSync(join(folder, 'src/core/one.ts'), new Date(), new Date());
    await ensureTypescript(folder, options());
    expect(said).toHaveLength(1);
    expect(isBuilt(folder)).toBe(true);
    rmSync(join(folder, 'src/core/two.ts'));
    expect(isBuilt(folder)).toBe(false);
    await ensureTypescript(folder, options());
    expect(existsSync(join(folder, 'dist/core/two.js'))).toBe(false);
  });

  it('stays as it was when the build fails, and the error is shown', async () => {
    await ensureTypescript(folder, options());
    write('src/core/one.ts', 'export const one: number = "1";\n');
    const failed = ensureTypescript(folder, options());
    await expect(failed).rejects.toThrow(/TypeScript failed \(exit \d\)[\s\S]*TS2322/);
    expect(existsSync(join(folder, 'dist/core/two.js'))).toBe(true);
    expect(isBuilt(folder)).toBe(false);
  });
});

describe('a step', () => {
  it('logs everything and says how long it took', async () => {
    const said: string[] = [];
    const log = join(folder, 'logs', 'x.log');
    await step('thing', ['sh', '-c', 'echo out; echo err >&2; printf last'], {
      cwd: folder,
      log,
      say: (line) => said.push(line),
    });
    expect(readFileSync(log, 'utf8').trim().split('\n').slice(1).sort()).toEqual(['err', 'last', 'out']);
    expect(said[0]).toMatch(/^thing: \d+\.\d s$/);
  });
  it('that fails shows its last lines and where the log is', async () => {
    const log = join(folder, 'x.log');
    const failed = step('thing', ['sh', '-c', 'seq 100; exit 4'], { cwd: folder, log, say: () => {} });
    await expect(failed).rejects.toThrow(`thing failed (exit 4); the whole log: ${log}\n  | 76\n`);
  });
  it('whose program is not there is 127, not a crash', async () => {
    expect(await runLogged(['no-such-program'], { cwd: folder, log: join(folder, 'x.log') })).toMatchObject({
      code: 127,
    });
  });
});

describe('the native build', () => {
  it('starts no more compilers than memory holds', () => {
    const gib = 1024 ** 3;
    expect(jobs({ cores: 8, freeBytes: 100 * gib })).toBe(8);
    expect(jobs({ cores: 8, freeBytes: 3.5 * gib })).toBe(3);
    expect(jobs({ cores: 8, freeBytes: 0.2 * gib })).toBe(1);
  });
  it('that fails shows the first error, not what went on after it', () => {
    const tail = ['[1/3] Building x', 'FAILED: y.o', 'y.cc:1: error: no', '[2/3] Building z'];
    expect(buildFailure(tail, 1, '/log')).toBe(
      'native build failed (exit 1); the whole log: /log\n  | FAILED: y.o\n  | y.cc:1: error: no\n  | [2/3] Building z',
    );
  });
});

describe('bin/setup.js', () => {
  const setup = (env: NodeJS.ProcessEnv, ...argv: string[]) =>
    spawnSync(process.execPath, [join(ROOT, 'bin/setup.js'), ...argv], { encoding: 'utf8', env });
  it('knows two words', () => {
    expect(setup(process.env, 'everything')).toMatchObject({ status: 2, stdout: '' });
    expect(setup(process.env, 'everything').stderr).toMatch(/^usage: node bin\/setup\.js demo\|test/);
  });
  it('on a machine with nothing and no rights: says what is missing, exit 3', () => {
    const { status, stderr } = setup({ PATH: '/nowhere' }, 'demo');
    expect(status).toBe(3);
    expect(stderr).toMatch(/^set-up: missing Debian packages: g\+\+ \(.*cmake \(not found\)/);
    expect(stderr).toMatch(/sudo apt-get install -y --no-install-recommends g\+\+ cmake/);
    expect(stderr).not.toMatch(/\n {4}at /);
  });
});

describe('bin/rota.js', () => {
  it('says what to do when nothing is built yet', () => {
    cpSync(join(ROOT, 'bin/rota.js'), join(folder, 'bin/rota.js'));
    write('package.json', '{ "type": "module" }');
    const { status, stderr } = spawnSync(process.execPath, [join(folder, 'bin/rota.js')], {
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([3, 'rota: not built yet; run: npm run build\n']);
  });
});
