#!/usr/bin/env node
// A long conversation with one real rota-strata: every line is answered once, answers stay right, memory and descriptors stay flat.
// Owns the engine's process, the samples and the verdict; the mix is requests.js's, the rule flatness.js's.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { notFlat } from './flatness.js';
import { askOf, promptOf, random } from './requests.js';

const usage = `Usage: npm run soak -- [--requests N] [--seed N]
  --requests N  how many (default 2000)
  --seed N      of their mix (default 1)
It ends with 0 when every line was answered once, every answer to the same question was the same, and memory and open
descriptors were flat after warm-up (test/soak/flatness.js has the rule), with 1 when not.`;

const BIN = process.env['ROTA_BUILD'] ?? resolve(import.meta.dirname, '../../native/build/host/bin');
/** Experts in all three tiers, so that slots, arena and file are all used. */
const KNOBS = ['--slots', '15%', '--arena', '25%', '--ctx', '1024', '--threads', '2'];
const SAMPLES = 100;
/** The same question, asked now and then: its answer may not change. */
const REFERENCE = { op: 'generate', prompt: promptOf(60, 3), max_new: 24, ignore_eos: true };
const REFERENCE_EVERY = 25;

/** @param {number} pid */
function sample(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const rssBytes = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  return { rssBytes, descriptors: readdirSync(`/proc/${pid}/fd`).length };
}

/** An engine that is asked one thing at a time. @param {string} folder */
function startEngine(folder) {
  const model = join(folder, 'soak.gguf');
  execFileSync(join(BIN, 'rota-model'), ['synth', '--config', 'mini-xs', '--seed', '1', '--out', model], {
    stdio: 'pipe',
  });
  const child = spawn(join(BIN, 'rota-strata'), ['--model', model, ...KNOBS], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  /** @type {((event: any) => void) | null} */
  let waiting = null;
  /** @type {string[]} */
  const stray = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    const event = JSON.parse(line);
    if (event.event === 'loading' || event.event === 'tokens') return;
    if (waiting === null) stray.push(line.slice(0, 200));
    else waiting(event);
    waiting = null;
  });
  const ended = new Promise((settle) => child.once('close', (code, signal) => settle(signal ?? code)));
  const answer = () =>
    /** @type {Promise<any>} */ (
      new Promise((settle, reject) => {
        waiting = settle;
        void ended.then((how) => reject(new Error(`the engine ended: ${how}`)));
      })
    );
  return {
    pid: Number(child.pid),
    stray,
    ended,
    ready: answer(),
    /** @param {string} line */
    tell: (line) => void child.stdin.write(`${line}\n`),
    answer,
    end: () => child.stdin.end(),
  };
}

/**
 * @param {{requests: number, seed: number, onSample?: (text: string) => void}} options
 * @returns {Promise<{problems: string[], samples: import('./flatness.js').Sample[], seconds: number}>}
 */
export async function soak({ requests, seed, onSample = () => {} }) {
  const folder = mkdtempSync(join(tmpdir(), 'rota-soak-'));
  const engine = startEngine(folder);
  const next = random(seed);
  const problems = new Set();
  /** @type {import('./flatness.js').Sample[]} */
  const samples = [];
  const begin = performance.now();
  let reference = '';
  try {
    await engine.ready;
    for (let id = 1; id <= requests; ++id) {
      const isReference = id % REFERENCE_EVERY === 1;
      const ask = isReference
        ? { line: JSON.stringify({ ...REFERENCE, id }), wants: 'done', cancelAfterMs: null }
        : askOf(id, next);
      const answered = engine.answer();
      engine.tell(ask.line);
      const timer =
        ask.cancelAfterMs === null
          ? undefined
          : setTimeout(() => engine.tell(JSON.stringify({ id, op: 'cancel' })), ask.cancelAfterMs);
      const event = await answered;
      clearTimeout(timer);
      if (event.event !== ask.wants)
        problems.add(`${ask.line.slice(0, 120)} was answered with ${event.event}: ${event.message ?? ''}`);
      if (isReference) {
        const said = JSON.stringify([event.ids, event.digest]);
        if (reference !== '' && said !== reference)
          problems.add(`request ${id} answers the same question differently`);
        reference = said;
      }
      if (id % Math.max(1, Math.floor(requests / SAMPLES)) === 0) {
        samples.push({ request: id, ...sample(engine.pid) });
        const { rssBytes, descriptors } = samples.at(-1) ?? { rssBytes: 0, descriptors: 0 };
        onSample(
          `${id} of ${requests} requests: ${(rssBytes / 2 ** 20).toFixed(1)} MiB, ${descriptors} descriptors`,
        );
      }
    }
    engine.end();
    const how = await engine.ended;
    if (how !== 0) problems.add(`the engine ended with ${how}`);
    for (const line of engine.stray) problems.add(`nobody asked for ${line}`);
  } finally {
    engine.end();
    rmSync(folder, { recursive: true, force: true });
  }
  const seconds = (performance.now() - begin) / 1000;
  return { problems: [...problems, ...notFlat(samples)], samples, seconds };
}

async function main() {
  const text = /** @type {const} */ ({ type: 'string' });
  const { values } = parseArgs({ options: { requests: text, seed: text, help: { type: 'boolean' } } });
  if (values.help) return console.log(usage);
  const requests = Number(values.requests ?? 2000);
  if (!Number.isInteger(requests) || requests < 50) {
    console.error(`--requests ${values.requests}: a whole number of 50 or more`);
    process.exitCode = 2;
    return;
  }
  let shown = 0;
  const { problems, samples, seconds } = await soak({
    requests,
    seed: Number(values.seed ?? 1),
    onSample: (line) => {
      if (performance.now() - shown > 10_000) console.log(`soak: ${line}`);
      shown = performance.now() - shown > 10_000 ? performance.now() : shown;
    },
  });
  const last = samples.at(-1);
  console.log(
    `soak: ${requests} requests in ${seconds.toFixed(0)} s; ${((last?.rssBytes ?? 0) / 2 ** 20).toFixed(1)} MiB and ${last?.descriptors} descriptors at the end`,
  );
  console.log(problems.length === 0 ? 'soak: flat' : `soak: FAILED\n${problems.join('\n')}`);
  process.exitCode = problems.length === 0 ? 0 : 1;
}

if (process.argv[1] === import.meta.filename) await main();
