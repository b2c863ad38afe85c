// The build of an engine, on a project of cmake that needs no compiler.

import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { EngineError } from '../../src/core/errors.ts';
import { type BuildProgress, binaryPath, buildEngine, presetOf } from '../../src/engines/build.ts';
import { parseDescriptor } from '../../src/schema/descriptor.ts';
import { processesNaming } from '../cli/helpers/signalled.ts';
import { temporaryFolder } from './helpers/fake.ts';

const { descriptor } = parseDescriptor(
  `name: toy
summary: x
bundled: true
build: {preset: host, targets: [toy]}
binary: native/build/host/toy
command: ['{binary}', '{model}']
transport: stdio
dialect: rota
tokenIds: true
counting: {file: disjoint, unit: lookup}
`,
  'toy.yaml',
);

function project(root: string, commands: string, preset = 'host'): void {
  const native = path.join(root, 'native');
  mkdirSync(native, { recursive: true });
  writeFileSync(
    path.join(native, 'CMakePresets.json'),
    JSON.stringify({
      version: 3,
      configurePresets: [{ name: preset, binaryDir: `${native}/build/${preset}` }],
      buildPresets: [{ name: preset, configurePreset: preset }],
    }),
  );
  const head = 'cmake_minimum_required(VERSION 3.22)\nproject(toy NONE)\n';
  writeFileSync(path.join(native, 'CMakeLists.txt'), head + commands);
}

const WORKS = `add_custom_target(toy COMMAND \${CMAKE_COMMAND} -E touch \${CMAKE_BINARY_DIR}/toy)\n`;

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return await work.then(
    () => null,
    (reason: unknown) => reason,
  );
}

async function failure(work: Promise<unknown>): Promise<EngineError> {
  const error = await failureOf(work);
  if (error instanceof EngineError) return error;
  throw new Error(`expected an EngineError, got ${String(error)}`);
}

test('configures, builds, says where the program is and how it went', async () => {
  using folder = temporaryFolder();
  project(folder.path, WORKS);
  const steps: BuildProgress[] = [];
  const built = await buildEngine({ descriptor, root: folder.path, onProgress: (step) => steps.push(step) });
  expect(built.binary).toBe(path.join(folder.path, 'native/build/host/toy'));
  expect(existsSync(built.binary)).toBe(true);
  expect([...new Set(steps.map(({ step }) => step))]).toEqual(['configure', 'compile']);
  expect(steps.some(({ line }) => line?.includes('toy'))).toBe(true);
  // A second time nothing is configured anew, whatever generator was chosen first.
  await buildEngine({ descriptor, root: folder.path });
});

test('a failure shows the errors, not what else went on', async () => {
  using folder = temporaryFolder();
  const fails = `
add_custom_target(toy COMMAND \${CMAKE_COMMAND} -E echo "toy.cc:3:1: error: no such thing"
  COMMAND \${CMAKE_COMMAND} -E false)\n`;
  project(folder.path, fails);
  const error = await failure(buildEngine({ descriptor, root: folder.path }));
  expect(error.message).toBe(`cmake could not compile: see ${folder.path}/native/build/toy.log`);
  expect(error.logTail).toContain('toy.cc:3:1: error: no such thing');
  project(folder.path, 'message(FATAL_ERROR "needs more")\n');
  const unconfigured = await failure(buildEngine({ descriptor, root: folder.path }));
  expect(unconfigured.message).toBe(`cmake could not configure: see ${folder.path}/native/build/toy.log`);
  expect(unconfigured.logTail.join('\n')).toContain('needs more');
});

test('an interrupt ends cmake and what it started; the next build goes on', async () => {
  using folder = temporaryFolder();
  const started = path.join(folder.path, 'started');
  const compiler = path.join(folder.path, 'compiler.sh');
  writeFileSync(compiler, `touch ${started}\nexec sleep 30.${process.pid}\n`);
  const slow = `add_custom_target(toy COMMAND sh ${compiler})\n`;
  project(folder.path, slow);
  const interrupt = new AbortController();
  const building = failureOf(
    buildEngine({ descriptor, root: folder.path, signal: interrupt.signal, jobs: 1 }),
  );
  while (!existsSync(started)) await new Promise((resolve) => setTimeout(resolve, 10));
  const begin = performance.now();
  interrupt.abort(new Error('stop now'));
  expect(await building).toEqual(new Error('stop now'));
  expect(performance.now() - begin).toBeLessThan(15_000);
  expect([...processesNaming(`30.${process.pid}\0`), ...processesNaming(folder.path)]).toEqual([]);
  project(folder.path, WORKS);
  expect(existsSync((await buildEngine({ descriptor, root: folder.path })).binary)).toBe(true);
}, 60_000);

test('a build that makes another program than the descriptor says', async () => {
  using folder = temporaryFolder();
  project(folder.path, 'add_custom_target(toy)\n');
  const error = await failure(buildEngine({ descriptor, root: folder.path }));
  expect(error.message).toContain("the descriptor's binary and targets do not agree");
});

test('an engine without a build', async () => {
  const { build: _, ...foreign } = descriptor;
  await expect(buildEngine({ descriptor: foreign, root: '/nowhere' })).rejects.toThrow(
    'toy has nothing to build',
  );
});

test('another preset is built where its programs belong', async () => {
  using folder = temporaryFolder();
  project(folder.path, WORKS, 'gpu');
  const presetBy = { knob: 'on', pattern: '^(gpu):' };
  const build = { preset: 'host', targets: ['toy'], presetBy };
  const both = { ...descriptor, build, binary: 'native/build/{preset}/toy' };
  const { binary } = await buildEngine({ descriptor: both, root: folder.path, preset: 'gpu' });
  expect(binary).toBe(path.join(folder.path, 'native/build/gpu/toy'));
  expect(existsSync(binary)).toBe(true);
  expect(binaryPath(both, folder.path, { on: 'gpu:0' })).toBe(binary);
  expect(presetOf(both, { on: 'host' })).toBe('host');
  expect(presetOf(both, {})).toBe('host');
});
