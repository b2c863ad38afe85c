// Which Debian packages the native engine needs, and how to get them. Owns the list; builds nothing.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { runLogged, SetupError } from './command.js';

export const CMAKE_MINIMUM = [3, 22];

/**
 * What the machine answers; injected, so that every answer can be tested.
 * @typedef {object} Machine
 * @property {(argv: readonly string[], input?: string) => {code: number, stdout: string}} run
 * @property {boolean} isRoot
 */

/** @type {Machine} */
export const thisMachine = {
  run([program = '', ...rest], input = '') {
    const { status, stdout } = spawnSync(program, rest, { input, encoding: 'utf8' });
    return { code: status ?? 127, stdout: stdout ?? '' };
  },
  isRoot: process.getuid?.() === 0,
};

/**
 * @param {Machine} machine
 * @param {{CXX?: string | undefined, ROTA_HEADERS_DIR?: string | undefined}} env
 * @returns {{package: string, why: string}[]}
 */
export function missingPackages(machine, env) {
  const missing = [];
  const compiler = findCompiler(machine, env.CXX);
  if (compiler === undefined) missing.push({ package: 'g++', why: 'no compiler that understands C++20' });
  const cmake = cmakeProblem(machine);
  if (cmake !== undefined) missing.push({ package: 'cmake', why: cmake });
  if (!works(machine, ['ninja', '--version']) && !works(machine, ['make', '--version'])) {
    missing.push({ package: 'ninja-build', why: 'neither ninja nor make' });
  }
  for (const [name, header] of [
    ['doctest-dev', 'doctest/doctest.h'],
    ['nlohmann-json3-dev', 'nlohmann/json.hpp'],
  ]) {
    if (!hasHeader(machine, compiler, String(header), env.ROTA_HEADERS_DIR)) {
      missing.push({ package: String(name), why: `no <${header}>` });
    }
  }
  return missing;
}

/**
 * The same, and what the fuzz targets are built with.
 * @type {typeof missingPackages}
 */
export function missingForFuzz(machine, env) {
  const missing = missingPackages(machine, env);
  if (!works(machine, ['clang++', '--version'])) missing.push({ package: 'clang', why: 'no clang++' });
  const program =
    '#include <cstdint>\n#include <cstddef>\nextern "C" int LLVMFuzzerTestOneInput(const uint8_t*, size_t) { return 0; }\n';
  const flags = ['-std=c++20', '-fsanitize=fuzzer,address,undefined', '-x', 'c++', '-', '-o', '/dev/null'];
  if (machine.run(['clang++', ...flags], program).code !== 0) {
    missing.push({ package: 'libclang-rt-dev', why: 'no libFuzzer and no sanitizers for clang++' });
  }
  return missing;
}

/**
 * @param {Machine} machine
 * @param {string | undefined} chosen
 */
function findCompiler(machine, chosen) {
  const candidates = chosen ? [chosen] : ['c++', 'g++', 'clang++'];
  const program = '#include <span>\nint main() { return 0; }\n';
  return candidates.find(
    (name) => machine.run([name, '-std=c++20', '-fsyntax-only', '-x', 'c++', '-'], program).code === 0,
  );
}

/** @param {Machine} machine */
function cmakeProblem(machine) {
  const { code, stdout } = machine.run(['cmake', '--version']);
  if (code !== 0) return 'not found';
  const [, major = '0', minor = '0'] = /version (\d+)\.(\d+)/.exec(stdout) ?? [];
  const [wantMajor = 0, wantMinor = 0] = CMAKE_MINIMUM;
  const isNew = Number(major) > wantMajor || (Number(major) === wantMajor && Number(minor) >= wantMinor);
  return isNew ? undefined : `version ${major}.${minor} is older than ${wantMajor}.${wantMinor}`;
}

/**
 * @param {Machine} machine
 * @param {string | undefined} compiler
 * @param {string} header
 * @param {string | undefined} folder
 */
function hasHeader(machine, compiler, header, folder) {
  if (folder !== undefined && existsSync(join(folder, header))) return true;
  if (compiler === undefined) return existsSync(join('/usr/include', header));
  const program = `#if !__has_include(<${header}>)\n#error missing\n#endif\n`;
  return machine.run([compiler, '-E', '-x', 'c++', '-'], program).code === 0;
}

/**
 * @param {Machine} machine
 * @param {readonly string[]} argv
 */
function works(machine, argv) {
  return machine.run(argv).code === 0;
}

/**
 * How this user may install packages: the words in front of apt-get, or undefined.
 * @param {Machine} machine
 * @param {string | undefined} path the PATH to look for apt-get in
 */
export function aptPrefix(machine, path) {
  const hasApt = (path ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'apt-get')));
  if (!hasApt) return undefined;
  if (machine.isRoot) return [];
  return works(machine, ['sudo', '-n', 'true']) ? ['sudo', '-n'] : undefined;
}

/**
 * apt-get as this user may run it, without questions and waiting for its lock; undefined where it may not.
 * @param {Machine} machine
 * @param {string | undefined} path
 */
export function aptGet(machine, path) {
  const prefix = aptPrefix(machine, path);
  if (prefix === undefined) return undefined;
  return [...prefix, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-o', 'DPkg::Lock::Timeout=300'];
}

/** @param {readonly string[]} packages */
export function installCommand(packages) {
  return `sudo apt-get update && sudo apt-get install -y --no-install-recommends ${packages.join(' ')}`;
}

/**
 * @param {readonly {package: string, why: string}[]} missing
 * @param {string} reason why the set-up does not install them itself
 */
export function missingMessage(missing, reason) {
  const list = missing.map((item) => `${item.package} (${item.why})`).join(', ');
  const command = installCommand(missing.map((item) => item.package));
  return `missing Debian packages: ${list}.\n${reason} Install them with:\n  ${command}`;
}

/**
 * @param {Machine} machine
 * @param {{env: NodeJS.ProcessEnv, logFolder: string, say: (line: string) => void, lacks?: typeof missingPackages}} options
 *   lacks: what must be there; by default what the native build needs
 */
export async function ensurePackages(machine, { env, logFolder, say, lacks = missingPackages }) {
  const missing = lacks(machine, env);
  if (missing.length === 0) return;
  const apt = aptGet(machine, env['PATH']);
  if (apt === undefined) {
    throw new SetupError(missingMessage(missing, 'This user may not install packages here.'));
  }
  const names = missing.map((item) => item.package);
  say(`installing ${names.join(', ')} with apt-get ...`);
  const log = join(logFolder, 'setup-apt.log');
  const options = { cwd: logFolder, log };
  // A failed update is no reason to stop: the lists that are there may do.
  const update = await runLogged([...apt, 'update'], {
    ...options,
    log: join(logFolder, 'setup-apt-update.log'),
  });
  const install = await runLogged([...apt, 'install', '-y', '--no-install-recommends', ...names], options);
  const still = lacks(machine, env);
  if (still.length > 0) {
    const last = install.tail.filter((line) => line.trim() !== '').slice(-5);
    const reason = [
      `apt-get could not install them; the whole log: ${log}`,
      ...last.map((line) => `  | ${line}`),
    ];
    throw new SetupError(missingMessage(still, `${reason.join('\n')}\nWhen apt-get works again:`));
  }
  say(`Debian packages: ${(update.seconds + install.seconds).toFixed(1)} s`);
}
