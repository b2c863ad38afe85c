// One command of a suite in a process group of its own. Owns its end: whatever it started is gone when it is done, too late, or the
// runner is told to stop, so that what a mistake makes hang does not take the next one's processor.
import { spawn } from 'node:child_process';

/** @type {number | undefined} */
let running;
process.on('exit', () => endGroup(running));

/** @param {number | undefined} leader */
function endGroup(leader) {
  try {
    if (leader !== undefined) process.kill(-leader, 'SIGKILL');
  } catch {
    // Nothing of it is left.
  }
}

/**
 * @typedef {{status: number | null, signal: string | null, output: string, isLate: boolean}} Ended
 * isLate: it was ended by the time limit
 */

/**
 * Rejects when there is no such program.
 * @param {string} command
 * @param {string[]} args
 * @param {{cwd: string, env: NodeJS.ProcessEnv, seconds: number}} options
 * @returns {Promise<Ended>}
 */
export function runSuiteCommand(command, args, { cwd, env, seconds }) {
  const child = spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  running = child.pid;
  let output = '';
  let isLate = false;
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  const timer = setTimeout(() => {
    isLate = true;
    endGroup(child.pid);
  }, seconds * 1000);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    // A grandchild that lives on keeps the pipes open: the group is ended first, and `close` comes then.
    child.on('exit', () => endGroup(child.pid));
    child.on('close', (status, signal) => {
      clearTimeout(timer);
      running = undefined;
      resolve({ status, signal, output, isLate });
    });
  });
}
