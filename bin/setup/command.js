// Runs one program of the set-up with its output in a log. Owns the log and its tail; knows nothing of what is run.
import { spawn } from 'node:child_process';
import { createWriteStream, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { performance } from 'node:perf_hooks';

/** A failure that the user can act on: printed as it is, without a stack. */
export class SetupError extends Error {}

/**
 * @typedef {object} Outcome
 * @property {number} code exit status; 127 where the program could not be started
 * @property {string[]} tail last lines of stdout and stderr together
 * @property {number} seconds
 */

/**
 * @param {readonly string[]} argv
 * @param {{cwd: string, log: string, env?: Record<string, string>, onLine?: (line: string) => void}} options
 * @returns {Promise<Outcome>}
 */
export function runLogged(argv, { cwd, log, env = {}, onLine = () => {} }) {
  mkdirSync(dirname(log), { recursive: true });
  const file = createWriteStream(log);
  const started = performance.now();
  /** @type {string[]} */
  const tail = [];
  let partial = '';
  /** @param {string} line */
  const take = (line) => {
    tail.push(line);
    if (tail.length > 40) tail.shift();
    onLine(line);
  };
  const [program = '', ...rest] = argv;
  file.write(`$ ${argv.join(' ')}\n`);
  return new Promise((resolve) => {
    const child = spawn(program, rest, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    /** @param {Buffer} chunk */
    const onData = (chunk) => {
      file.write(chunk);
      const lines = (partial + chunk.toString('utf8')).split('\n');
      partial = lines.pop() ?? '';
      lines.forEach(take);
    };
    child.stdout.on('data', onData);
    child.stderr.on('data', onData);
    /** @param {number} code */
    const finish = (code) => {
      if (partial !== '') take(partial);
      const seconds = (performance.now() - started) / 1000;
      file.end(() => resolve({ code, tail, seconds }));
    };
    child.once('error', (error) => {
      partial = `${program}: ${error.message}`;
      finish(127);
    });
    child.once('close', (code) => finish(code ?? 1));
  });
}

/**
 * Runs it, says how long it took, and throws its last lines when it fails.
 * @param {string} what
 * @param {readonly string[]} argv
 * @param {{cwd: string, log: string, env?: Record<string, string>, say: (line: string) => void, onLine?: (line: string) => void}} options
 */
export async function step(what, argv, options) {
  const { code, tail, seconds } = await runLogged(argv, options);
  if (code !== 0) {
    const last = tail.slice(-25).map((line) => `  | ${line}`);
    throw new SetupError(
      [`${what} failed (exit ${code}); the whole log: ${options.log}`, ...last].join('\n'),
    );
  }
  options.say(`${what}: ${seconds.toFixed(1)} s`);
}
