// Owns one promise: when the Rota that started it is gone, however it went, nothing that Rota launched is left.
// A program of its own, because a process that was killed by SIGKILL cannot keep a promise. Plain JavaScript, so that it
// runs from a checkout that was never built. It waits for the end of its stdin, which only Rota holds open.
//
//   node guard.js LEASH        stdin: lines `watch PID` and `forget PID`

import { readdirSync, readFileSync } from 'node:fs';
import process from 'node:process';

const TERM_TO_KILL_MS = 1500;
const SWEEP_EVERY_MS = 100;
const GIVE_UP_MS = 20_000;

/** Every launch has the session's leash with a number of its own behind it. */
const mark = `ROTA_LEASH=${process.argv[2]}.`;
/** @type {Set<number>} */
const groups = new Set();

/** @param {number} pid */
function readProcess(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [state, parent, group, session] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    if (state === 'Z' || state === 'X') return [];
    return [{ pid, parent: Number(parent), group: Number(group), session: Number(session) }];
  } catch {
    return [];
  }
}

/** @param {number} pid */
function isMarked(pid) {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(mark);
  } catch {
    return false;
  }
}

/** On the leash, in a watched group or session, or a descendant of one that is. */
function launched() {
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? readProcess(Number(name)) : []));
  const found = new Set(
    all.flatMap((p) => (groups.has(p.group) || groups.has(p.session) || isMarked(p.pid) ? [p.pid] : [])),
  );
  for (let size = -1; size !== found.size; ) {
    size = found.size;
    for (const p of all) if (found.has(p.parent)) found.add(p.pid);
  }
  found.delete(process.pid);
  return [...found];
}

/**
 * @param {readonly number[]} pids
 * @param {NodeJS.Signals} signal
 */
function signalAll(pids, signal) {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // Ended by itself between the look and the signal.
    }
  }
}

/** @param {number} sinceMs */
function sweep(sinceMs) {
  const left = launched();
  if (left.length === 0 || sinceMs > GIVE_UP_MS) process.exit(left.length === 0 ? 0 : 1);
  signalAll(left, sinceMs < TERM_TO_KILL_MS ? 'SIGTERM' : 'SIGKILL');
  setTimeout(() => sweep(sinceMs + SWEEP_EVERY_MS), SWEEP_EVERY_MS);
}

let rest = '';
let isSweeping = false;

/** @param {string} text */
function onText(text) {
  const lines = (rest + text).split('\n');
  rest = lines.pop() ?? '';
  for (const line of lines) {
    const [verb, pid] = line.split(' ');
    if (verb === 'watch') groups.add(Number(pid));
    if (verb === 'forget') groups.delete(Number(pid));
  }
}

function onEnd() {
  if (isSweeping) return;
  isSweeping = true;
  sweep(0);
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
process.stdin.setEncoding('latin1').on('data', onText).on('end', onEnd).on('close', onEnd).on('error', onEnd);
