// The halves for NVIDIA GPUs compile, and their tests pass where there is a GPU. Takes the rooms that the host's build has compiled,
// in a build folder of its own: in a user's of the preset cuda they would grow old. Without nvcc the check is waived and says so.
// Without a GPU what it compiles is never run: every architecture of the preset then, but nothing optimised.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { availableParallelism, freemem } from 'node:os';
import { join } from 'node:path';
import { runLogged } from '../../../bin/setup/command.js';
import { buildFailure, jobs } from '../../../bin/setup/native.js';

/** What is built of the preset: all that has device code, and the programs that choose a device. */
const TESTS = [
  'device_cuda_test',
  'model_cuda_test',
  'experts_cuda_test',
  'engines_cuda_test',
  'probe_cuda_test',
];
const PROGRAMS = ['rota-strata', 'rota-bench', 'rota-probe'];
const NVCC = '/usr/local/cuda/bin/nvcc';
/** Device code as fast as nvcc can make it, which is ten times as fast for the largest file. */
const UNOPTIMISED = '--Ofast-compile=max';
/** There where the driver is; a GPU that a test then does not find is waived with slow code at worst. */
const GPU = '/dev/nvidiactl';

/** @param {NodeJS.ProcessEnv} env */
function compiler(env) {
  return [env['CUDACXX'] ?? 'nvcc', NVCC].find((nvcc) => spawnSync(nvcc, ['--version']).status === 0);
}

/**
 * @param {string} root
 * @param {(line: string) => void} progress
 * @returns {Promise<import('./result.js').CheckResult>}
 */
export async function cuda(root, progress) {
  const nvcc = compiler(process.env);
  if (nvcc === undefined) return { passed: 0, failures: [], note: 'waived: there is no nvcc' };
  const native = join(root, 'native');
  const folder = join(native, 'build', 'check-cuda');
  const log = join(native, 'build', 'check-cuda.log');
  const hasNinja = spawnSync('ninja', ['--version']).status === 0;
  const headers = process.env['ROTA_HEADERS_DIR'];
  const configure = [
    ...['cmake', '--preset', 'cuda', '-B', folder, `-DCMAKE_CUDA_COMPILER=${nvcc}`],
    `-DCMAKE_CUDA_FLAGS=${[process.env['CUDAFLAGS'] ?? '', ...(existsSync(GPU) ? [] : [UNOPTIMISED])].join(' ')}`,
    `-DROTA_HOST_BUILD=${join(native, 'build', 'host')}`,
    ...(hasNinja ? ['-G', 'Ninja'] : []),
    ...(headers === undefined ? [] : [`-DROTA_HEADERS_DIR=${headers}`]),
  ];
  const count = jobs({ cores: availableParallelism(), freeBytes: freemem() });
  const build = ['cmake', '--build', folder, '-j', String(count), '--target', ...TESTS, ...PROGRAMS];
  for (const argv of [configure, build]) {
    const { code, tail } = await runLogged(argv, { cwd: native, log, onLine: progress });
    if (code !== 0) return { passed: 0, failures: buildFailure(tail, code, log).split('\n') };
  }
  return runTests(folder);
}

/**
 * A test that finds no GPU ends with 0 and says that it is waived.
 * @param {string} folder
 * @returns {import('./result.js').CheckResult}
 */
function runTests(folder) {
  let passed = 0;
  const failures = [];
  const waived = new Set();
  for (const test of TESTS) {
    const { status, stdout, stderr } = spawnSync(join(folder, test), ['--no-colors=true'], {
      encoding: 'utf8',
    });
    const isWaived = /^waived: (.*)$/m.exec(stdout)?.[1];
    if (isWaived !== undefined) waived.add(isWaived);
    passed += Number(/test cases:\s*\d+\s*\|\s*(\d+) passed/.exec(stdout)?.[1] ?? 0);
    if (status === 0) continue;
    const lines = stdout.split('\n').filter((line) => /ERROR: |TEST CASE:/.test(line));
    failures.push(`${test} ended with ${status}`, ...lines.slice(0, 20), ...stderr.split('\n').slice(-5));
  }
  const note = [
    `${TESTS.length + PROGRAMS.length} programs`,
    ...[...waived].map((why) => `tests waived: ${why}`),
  ].join('; ');
  return { passed: Math.max(passed, failures.length === 0 ? 1 : 0), failures, note };
}
