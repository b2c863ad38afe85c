#!/usr/bin/env node
// Runs every fuzz target for a number of inputs. Owns seeds, corpus, progress and the verdict; the targets are native/fuzz/*_fuzz.cc.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { availableParallelism, freemem } from 'node:os';
import { join, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { writeSeeds } from './seeds.js';

const usage = `Usage: npm run fuzz -- [--inputs N] [--minutes M] [--only TEXT] [--jobs N] [--list]
  --inputs N    inputs a target (default 10000000)
  --minutes M   at most this long a target
  --only TEXT   only targets whose name contains TEXT
  --jobs N      targets at once (default 1)
  --list        print the targets and stop
It needs clang. The corpus stays in native/build/fuzz/corpus; an input that breaks something is kept in native/build/fuzz/found,
and shown with whole stacks. Exit 1 when there is one.
Example: npm run fuzz -- --only gguf --minutes 5`;

const root = resolve(import.meta.dirname, '../..');
const native = join(root, 'native');
const build = join(native, 'build/host-fuzz');
const work = join(native, 'build/fuzz');

/** Bytes of an input: the target's seeds and some room. Longer ones are slower and reach nothing more. */
const LONGEST = {
  blocks: 264,
  checkpoint: 12288,
  command: 256,
  cpu_list: 32,
  draft_counts: 128,
  draft_oracle: 128,
  flags: 96,
  gguf: 1024,
  gguf_config: 3328,
  lines: 64,
  machine_text: 96,
  parts: 1024,
  ranking: 128,
  routes: 256,
  safetensors: 512,
  shard_name: 64,
  sidecar: 768,
  tokenizer_json: 1024,
  weight_source: 7168,
};

/**
 * An input allocates little and lives for microseconds: a small quarantine, which a cache holds, keeps all that it frees, and short
 * stacks are cheap to take. What is found is shown once more with AddressSanitizer's own settings.
 */
const ASAN = 'quarantine_size_mb=4:thread_local_quarantine_size_kb=256:malloc_context_size=2';

/** @param {string} message @param {number} code @returns {never} */
function fail(message, code) {
  process.stderr.write(`${message}\n`);
  process.exit(code);
}

function readArguments() {
  const text = /** @type {const} */ ({ type: 'string' });
  const flag = /** @type {const} */ ({ type: 'boolean' });
  try {
    return parseArgs({
      options: { inputs: text, minutes: text, only: text, jobs: text, list: flag, help: flag },
    }).values;
  } catch (error) {
    return fail(`${/** @type {Error} */ (error).message}\n${usage}`, 2);
  }
}

/** @param {string | undefined} text @param {number} fallback @param {string} name */
function positive(text, fallback, name) {
  const value = text === undefined ? fallback : Number(text);
  if (!(value > 0)) fail(`--${name} ${text}: a number above 0`, 2);
  return value;
}

/** @param {readonly string[]} names */
function buildTargets(names) {
  const ninja = spawnSync('ninja', ['--version']).status === 0 ? ['-G', 'Ninja'] : [];
  const headers = process.env['ROTA_HEADERS_DIR'];
  const define = headers === undefined ? [] : [`-DROTA_HEADERS_DIR=${headers}`];
  const jobs = Math.max(1, Math.min(availableParallelism(), Math.floor(freemem() / 2 ** 31)));
  process.stdout.write('fuzz: building the targets ...\n');
  for (const argv of [
    ['--preset', 'host-fuzz', ...ninja, ...define],
    ['--build', build, '-j', String(jobs), '--target', 'rota-model', ...names.map((name) => `${name}_fuzz`)],
  ]) {
    const { status, stdout, stderr } = spawnSync('cmake', argv, { cwd: native, encoding: 'utf8' });
    if (status !== 0) fail(`the fuzz targets do not build:\n${`${stdout}${stderr}`.slice(-4000)}`, 3);
  }
}

function targetNames() {
  const sources = readdirSync(join(native, 'fuzz')).filter((name) => name.endsWith('_fuzz.cc'));
  return sources.map((name) => name.replace(/_fuzz\.cc$/, '')).sort();
}

/**
 * What libFuzzer says about where it stands: `#12345 NEW cov: 1 ft: 2 corp: 3/4b exec/s: 5 rss: 6Mb`.
 * @param {string} line
 */
function readPulse(line) {
  const match = /^#(\d+)\s.*cov: (\d+).*exec\/s: (\d+)/.exec(line);
  if (match === null) return null;
  return { inputs: Number(match[1]), coverage: Number(match[2]), perSecond: Number(match[3]) };
}

/**
 * What the program says of one input, with whole stacks.
 * @param {string} program
 * @param {string} input
 */
function again(program, input) {
  return spawnSync(program, ['-timeout=20', '-rss_limit_mb=2048', '-malloc_limit_mb=512', input], {
    encoding: 'utf8',
  }).stderr.split('\n');
}

/**
 * @typedef {{name: string, inputs: number, seconds: number, coverage: number, found: string | null, said: string[]}} Outcome
 * @param {string} name
 * @param {{inputs: number, seconds: number}} limit
 * @returns {Promise<Outcome>}
 */
async function runTarget(name, limit) {
  const corpus = join(work, 'corpus', name);
  const found = join(work, 'found', `${name}-`);
  for (const folder of [corpus, join(work, 'found')]) mkdirSync(folder, { recursive: true });
  const longest = /** @type {Record<string, number>} */ (LONGEST)[name];
  if (longest === undefined) fail(`${name}: no length in LONGEST (test/fuzz/fuzz.js)`, 3);
  const argv = [
    `-runs=${limit.inputs}`,
    ...(Number.isFinite(limit.seconds) ? [`-max_total_time=${Math.ceil(limit.seconds)}`] : []),
    `-max_len=${longest}`,
    // Weighing inputs by rare features took a fifth of the time and covered no more.
    '-entropic=0',
    '-timeout=20',
    '-rss_limit_mb=2048',
    '-malloc_limit_mb=512',
    `-artifact_prefix=${found}`,
    '-print_final_stats=1',
    corpus,
    join(work, 'seeds', name),
  ];
  const start = performance.now();
  const program = join(build, 'fuzz', `${name}_fuzz`);
  const env = { ...process.env, ASAN_OPTIONS: [ASAN, process.env['ASAN_OPTIONS'] ?? ''].join(':') };
  const child = spawn(program, argv, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let pulse = { inputs: 0, coverage: 0, perSecond: 0 };
  let shown = start;
  /** @type {string[]} */
  const tail = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    pulse = readPulse(line) ?? pulse;
    tail.push(line);
    if (tail.length > 60) tail.shift();
    if (performance.now() - shown < 15_000 || pulse.perSecond === 0) return;
    shown = performance.now();
    const left = (limit.inputs - pulse.inputs) / pulse.perSecond;
    const minutes = Math.min(left, limit.seconds - (shown - start) / 1000) / 60;
    process.stdout.write(
      `fuzz: ${name}: ${pulse.inputs} of ${limit.inputs} inputs, ${pulse.perSecond} a second, ${minutes.toFixed(1)} min left\n`,
    );
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  const seconds = (performance.now() - start) / 1000;
  const executed = Number(/number_of_executed_units:\s*(\d+)/.exec(tail.join('\n'))?.[1] ?? pulse.inputs);
  const artifact = /Test unit written to (\S+)/.exec(tail.join('\n'))?.[1];
  return {
    name,
    inputs: executed,
    seconds,
    coverage: pulse.coverage,
    found: code === 0 ? null : (artifact ?? `exit ${code}`),
    said: artifact === undefined ? tail : again(program, artifact),
  };
}

/** @param {Outcome} outcome */
function report({ name, inputs, seconds, coverage, found, said }) {
  const rate = Math.round(inputs / Math.max(seconds, 0.001));
  const how = `${inputs} inputs in ${(seconds / 60).toFixed(1)} min, ${rate} a second, coverage ${coverage}`;
  process.stdout.write(
    `fuzz: ${found === null ? 'clean' : 'FOUND'} ${name}: ${how}${found === null ? '' : ` <- ${found}`}\n`,
  );
  if (found !== null) process.stdout.write(`${said.slice(0, 60).join('\n')}\n`);
}

async function main() {
  const options = readArguments();
  if (options.help) return console.log(usage);
  const names = targetNames().filter((name) => name.includes(options.only ?? ''));
  if (names.length === 0) fail(`no fuzz target contains "${options.only}": ${targetNames().join(', ')}`, 2);
  if (options.list) return console.log(names.join('\n'));
  const limit = {
    inputs: Math.round(positive(options.inputs, 10_000_000, 'inputs')),
    seconds: positive(options.minutes, Number.POSITIVE_INFINITY, 'minutes') * 60,
  };
  const jobs = Math.round(positive(options.jobs, 1, 'jobs'));
  buildTargets(names);
  writeSeeds({ names, native, build, work });
  const waiting = [...names];
  /** @type {Outcome[]} */
  const outcomes = [];
  const worker = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const outcome = await runTarget(name, limit);
      report(outcome);
      outcomes.push(outcome);
    }
  };
  await Promise.all(Array.from({ length: jobs }, worker));
  const bad = outcomes.filter(({ found }) => found !== null);
  const left = outcomes.filter(({ found, inputs }) => found === null && inputs < limit.inputs);
  process.stdout.write(
    `fuzz: ${outcomes.length - bad.length} of ${outcomes.length} targets clean${left.length > 0 ? `; ${left.length} stopped by --minutes` : ''}\n`,
  );
  if (bad.length > 0) process.exitCode = 1;
}

await main();
