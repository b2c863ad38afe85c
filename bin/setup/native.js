// Configures and builds the native tree with cmake. Owns the build folder of the host preset; knows no engine's name.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { availableParallelism, freemem } from 'node:os';
import { join } from 'node:path';
import { runLogged, SetupError, step } from './command.js';

/** A compiler takes up to about a gigabyte a file; more at once than memory holds would swap, not build. */
const BYTES_PER_JOB = 1 << 30;

/** @param {{cores: number, freeBytes: number}} machine */
export function jobs({ cores, freeBytes }) {
  return Math.max(1, Math.min(cores, Math.floor(freeBytes / BYTES_PER_JOB)));
}

/**
 * @param {string} root
 * @param {{targets: readonly string[], logFolder: string, say: (line: string) => void, progress: (line: string) => void, env: NodeJS.ProcessEnv}} options
 *   targets: none means all, tests included
 */
export async function ensureNative(root, { targets, logFolder, say, progress, env }) {
  const native = join(root, 'native');
  const folder = join(native, 'build', 'host');
  const isConfigured = existsSync(join(folder, 'build.ninja')) || existsSync(join(folder, 'Makefile'));
  if (!isConfigured) {
    const hasNinja = spawnSync('ninja', ['--version']).status === 0;
    const headers = env['ROTA_HEADERS_DIR'];
    const argv = [
      ...['cmake', '--preset', 'host'],
      ...(hasNinja ? ['-G', 'Ninja'] : []),
      ...(headers === undefined ? [] : [`-DROTA_HEADERS_DIR=${headers}`]),
    ];
    await step('native configuration', argv, {
      cwd: native,
      log: join(logFolder, 'setup-configure.log'),
      say,
    });
    say('building the native engine; the first time takes minutes ...');
  }
  await build(folder, { targets, log: join(logFolder, 'setup-native.log'), say, progress });
}

/**
 * @param {string} folder
 * @param {{targets: readonly string[], log: string, say: (line: string) => void, progress: (line: string) => void}} options
 */
async function build(folder, { targets, log, say, progress }) {
  const count = jobs({ cores: availableParallelism(), freeBytes: freemem() });
  const argv = [
    'cmake',
    '--build',
    folder,
    '-j',
    String(count),
    ...(targets.length > 0 ? ['--target', ...targets] : []),
  ];
  let compiled = 0;
  const { code, tail, seconds } = await runLogged(argv, {
    cwd: folder,
    log,
    onLine: (line) => {
      if (/Building CXX|Linking CXX/.test(line)) compiled += 1;
      progress(line);
    },
  });
  if (code !== 0) throw new SetupError(buildFailure(tail, code, log));
  if (compiled > 0) say(`native engine: ${seconds.toFixed(1)} s`);
}

/**
 * The first error, not the last lines: ninja and make go on with other files after one failed.
 * @param {readonly string[]} tail
 * @param {number} code
 * @param {string} log
 */
export function buildFailure(tail, code, log) {
  const at = tail.findIndex((line) => /error:|FAILED:|No such file/.test(line));
  const shown = tail.slice(Math.max(0, at)).slice(0, 25);
  const lines = shown.map((line) => `  | ${line}`);
  return [`native build failed (exit ${code}); the whole log: ${log}`, ...lines].join('\n');
}
