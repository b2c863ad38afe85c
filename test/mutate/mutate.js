#!/usr/bin/env node
// Plants one mistake at a time in a copy of the project and expects a test to notice. Owns the verdicts and the table; knows
// no mistake by itself: they are in mutations/, whose format README.md describes.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { compile, makeCopy } from './copy.js';
import { pathInTree, planted, readPlan, whyNotApplicable } from './plan.js';
import { runSuiteCommand } from './suite-command.js';

const usage = `Usage: npm run mutate -- [--room ROOM] [--only TEXT] [--list | --check]
  --room ROOM   only the mutations of mutations/ROOM.json
  --only TEXT   only mutations whose name or file contains TEXT; may be given several times
  --list        print the mutations and stop
  --check       only see that each mutation can be planted
  --tree DIR    the project to copy (default: this one)
  --plan DIR    where suites.json and mutations/ are (default: beside this program)
  --trust       do not see first that each suite passes without a mistake: for when they just did
  --work DIR    keep the copy and its build there, so that the next run starts at once (default: a temporary folder)
Example: npm run mutate -- --room experts --work /tmp/mutate`;

/** @param {string} message @returns {never} */
function fail(message) {
  console.error(message);
  process.exit(2);
}

function readArguments() {
  const text = /** @type {const} */ ({ type: 'string' });
  const flag = /** @type {const} */ ({ type: 'boolean' });
  try {
    return parseArgs({
      options: {
        room: text,
        only: { ...text, multiple: true },
        list: flag,
        check: flag,
        help: flag,
        trust: flag,
        tree: text,
        work: text,
        plan: text,
      },
    }).values;
  } catch (error) {
    return fail(`${/** @type {Error} */ (error).message}\n${usage}`);
  }
}

/**
 * Runs a suite's commands until one fails. Returns what failed, and whether only a time limit found it; null when every command
 * passed.
 * @param {import('./plan.js').Suite} suite
 * @param {import('./copy.js').Place} place
 */
async function firstFailure(suite, place) {
  const filled = (/** @type {string} */ text) =>
    text.replaceAll('{build}', place.build).replaceAll('{built}', place.built);
  const env = Object.fromEntries(
    Object.entries(suite.env ?? {}).map(([name, value]) => [name, filled(value)]),
  );
  for (const [command = '', ...args] of suite.commands) {
    const ended = await runSuiteCommand(filled(command), args.map(filled), {
      cwd: command.startsWith('{build}') ? place.build : place.tree,
      env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0', ...env },
      seconds: suite.timeoutSeconds ?? 300,
    }).catch((error) => fail(`${filled(command)}: ${error.message}`));
    if (ended.status !== 0) return describeFailure(command, ended);
  }
  return null;
}

/**
 * The first failed test from doctest's or vitest's output, and what it said.
 * @param {string} command
 * @param {import('./suite-command.js').Ended} ended
 */
function describeFailure(command, { output, signal, isLate }) {
  const name = /TEST CASE:\s*(.+)/.exec(output)?.[1] ?? /FAIL\s+(.+)/.exec(output)?.[1];
  const said = /ERROR:\s*(.+)/.exec(output)?.[1] ?? /^\w*Error: .+/m.exec(output)?.[0];
  const what = name?.trim() ?? (signal ? `${command} ended by ${signal}` : `${command} failed`);
  return {
    what: said === undefined ? what : `${what}: ${said.trim().slice(0, 160)}`,
    isLate: isLate || /^Error: (Test|Hook) timed out/m.test(output),
  };
}

/**
 * Plants one mutation, judges it, and takes it out again.
 * @param {import('./plan.js').Mutation} mutation
 * @param {Record<string, import('./plan.js').Suite>} suites
 * @param {import('./copy.js').Place} place
 */
async function judge(mutation, suites, place) {
  const problem = whyNotApplicable(mutation, place.tree);
  if (problem !== null) return { verdict: 'does not apply', detail: problem };
  const path = join(place.tree, pathInTree(mutation.file));
  const original = readFileSync(path, 'utf8');
  writeFileSync(path, planted(mutation, original));
  try {
    for (const name of mutation.suites) {
      const suite = /** @type {import('./plan.js').Suite} */ (suites[name]);
      const built = compile(place, suite);
      if (built.status !== 0)
        return { verdict: 'does not build', detail: /error(?: TS\d+)?: .*/.exec(built.stdout)?.[0] ?? '' };
      const failure = await firstFailure(suite, place);
      if (failure === null) continue;
      const isChance = failure.isLate && mutation.hangs !== true;
      return { verdict: isChance ? 'TIMED OUT' : 'caught', detail: failure.what };
    }
    return { verdict: 'SURVIVED', detail: '' };
  } finally {
    writeFileSync(path, original);
  }
}

/**
 * Without mutations every suite must pass, or the verdicts would mean nothing.
 * @param {string[]} names
 * @param {Record<string, import('./plan.js').Suite>} suites
 * @param {import('./copy.js').Place} place
 */
async function checkBaseline(names, suites, place) {
  for (const name of names) {
    const suite = /** @type {import('./plan.js').Suite} */ (suites[name]);
    const built = compile(place, suite);
    if (built.status !== 0) fail(`suite ${name} does not build:\n${built.stdout.slice(-4000)}`);
    const failure = await firstFailure(suite, place);
    if (failure !== null) fail(`suite ${name} fails without any mutation: ${failure.what}`);
  }
}

/**
 * @param {import('./plan.js').Mutation[]} chosen
 * @param {(mutation: import('./plan.js').Mutation) => Promise<{verdict: string, detail: string}>} verdictOf
 */
async function printVerdicts(chosen, verdictOf) {
  const bad = [];
  const began = performance.now();
  for (const [index, mutation] of chosen.entries()) {
    const start = performance.now();
    const { verdict, detail } = await verdictOf(mutation);
    const seconds = ((performance.now() - start) / 1000).toFixed(0).padStart(3);
    console.log(
      `${String(index + 1).padStart(3)}/${chosen.length} ${verdict.padEnd(14)} ${seconds} s  ${mutation.name}  <- ${detail}`,
    );
    if (verdict !== 'caught') bad.push(`${verdict}: ${mutation.name} (${mutation.file})`);
  }
  const minutes = ((performance.now() - began) / 60_000).toFixed(1);
  console.log(`${chosen.length - bad.length} of ${chosen.length} mutations caught in ${minutes} min`);
  if (bad.length === 0) return;
  console.log(bad.join('\n'));
  process.exitCode = 1;
}

async function main() {
  const options = readArguments();
  if (options.help) return console.log(usage);
  const tree = resolve(options.tree ?? resolve(import.meta.dirname, '../..'));
  const { suites, mutations, problems } = readPlan(resolve(options.plan ?? import.meta.dirname));
  if (problems.length > 0) fail(problems.join('\n'));
  const chosen = mutations
    .filter(({ room }) => room === (options.room ?? room))
    .filter(({ name, file }) => (options.only ?? ['']).some((text) => `${name} ${file}`.includes(text)));
  if (chosen.length === 0)
    fail(`no mutation of ${options.room ?? 'any room'} contains "${options.only?.join('" or "') ?? ''}"`);
  if (options.list) return console.log(chosen.map(({ name, file }) => `${file}: ${name}`).join('\n'));
  if (options.check) {
    const stale = chosen.flatMap((mutation) => {
      const problem = whyNotApplicable(mutation, tree);
      return problem === null ? [] : [`mutations/${mutation.room}.json: "${mutation.name}": ${problem}`];
    });
    if (stale.length > 0) fail(stale.join('\n'));
    return console.log(`${chosen.length} mutations can be planted`);
  }
  const names = [...new Set(chosen.flatMap((mutation) => mutation.suites))];
  const builds = names.some((name) => (suites[name]?.targets.length ?? 0) > 0);
  const copy = makeCopy(tree, { kept: options.work, builds });
  if ('failure' in copy) return fail(copy.failure);
  if (!options.trust) await checkBaseline(names, suites, copy.place);
  await printVerdicts(chosen, (mutation) => judge(mutation, suites, copy.place));
}

await main();
