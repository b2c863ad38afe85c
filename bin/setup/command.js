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
    const outs = [child.stdout, child.stderr].map((stream) => takeLines(stream, file, take));
    /** @param {number} code */
    const finish = (code) => {
      for (const out of outs) out.end();
      const seconds = (performance.now() - started) / 1000;
      file.end(() => resolve({ code, tail, seconds }));
    };
    child.once('error', (error) => {
      take(`${program}: ${error.message}`);
      finish(127);
    });
    child.once('close', (code) => finish(code ?? 1));
  });
}

/**
 * Lines of one stream; each stream has its own half line, so that the two never end up in one.
 * @param {import('node:stream').Readable} stream
 * @param {import('node:stream').Writable} log
 * @param {(line: string) => void} take
 */
function takeLines(stream, log, take) {
  let half = '';
  stream.setEncoding('utf8');
  stream.on('data', (/** @type {string} */ text) => {
    const lines = (half + text).split('\n');
    half = lines.pop() ?? '';
    for (const line of lines) {
      log.write(`${line}\n`);
      take(line);
    }
  });
  return {
    end() {
      if (half === '') return;
      log.write(`${half}\n`);
      take(half);
      half = '';
    },
  };
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
