// What each arm runs: overrides of engine, build, model and sampling, from the protocol file to the plan.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { execaSync } from 'execa';
import { expect, test, vi } from 'vitest';
import { systemClock } from '../../src/machine/clock.ts';
import { NO_PAINT } from '../../src/report/paint.ts';
import { planReport } from '../../src/report/plan.ts';
import { preparePlan } from '../../src/run/prepare.ts';
import { ensureBuilds, findSubjects } from '../../src/run/subjects.ts';
import { loadDescriptor, loadProtocol } from '../../src/schema/load.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';

vi.setConfig({ testTimeout: 60_000 });

const ENGINE = (name: string, more: string): string => `name: ${name}
summary: x
command: ['{binary}', --model, '{model}']
binary: native/build/host/${name}
transport: stdio
dialect: rota
tokenIds: true
counting: {file: disjoint, unit: lookup}
${more}`;

const TOY = ENGINE(
  'toy',
  `bundled: true
build: {preset: host, targets: [toy]}
knobs:
  rate: {type: int, flag: --rate, default: 5, effect: exact, summary: s}
  bias: {type: number, flag: --bias, default: 0, effect: lossy, summary: s}
  room: {type: size, flag: --room, effect: exact, summary: s}
`,
);

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
}

function bench(folder: string, arms: string): string {
  write(folder, {
    'engines/toy.yaml': TOY,
    'engines/alien.yaml': ENGINE(
      'alien',
      `knobs:
  warp: {type: int, flag: --warp, effect: lossy, summary: s}
  room: {type: size, flag: --room, effect: exact, summary: s}
`,
    ),
    'prose.yaml': 'prompts: [{text: a}, {text: b}]\nwarmup: [{text: c}, {text: d}]\n',
    'm.gguf': '',
    'other.gguf': '',
    'bin/toy-2': '',
    'p.yaml': `name: p
engine: toy
model: m.gguf
baseline: base
common: {room: 1GiB}
arms:
${arms}
blocks: 2
workloads: [{class: prose, prompts: prose.yaml, perBlock: 1, maxNew: 8}]
`,
  });
  return path.join(folder, 'p.yaml');
}

async function plan(folder: string, arms: string) {
  const complete = loadProtocol(bench(folder, arms), path.join(folder, 'engines'));
  const subjects = await findSubjects({
    complete,
    root: folder,
    ensureModel: async (model) => {
      if ('path' in model) return model.path;
      return 'synth' in model
        ? `synth ${model.synth.config}`
        : `bundled ${model.bundled} ${model.form ?? ''}`;
    },
  });
  return preparePlan({
    complete,
    protocolText: '',
    subjects,
    results: path.join(folder, 'results'),
    rota: '0.1.0',
    clock: systemClock,
  }).plan;
}

async function problem(work: () => Promise<unknown>, folder: string): Promise<string> {
  try {
    await work();
  } catch (error) {
    const { where, message, hint } = error as { where?: string; message: string; hint?: string };
    return [where, message]
      .filter(Boolean)
      .join(': ')
      .concat(hint ? `; ${hint}` : '')
      .replaceAll(folder, '<folder>');
  }
  throw new Error('nothing was wrong');
}

test('an arm runs the programs of the preset that its knob asks for', async () => {
  using folder = temporaryFolder();
  const file = bench(
    folder.path,
    '  base: {}\n  gpu: {on: "cuda:1"}\n  other: {override: {build: {binary: bin/toy-2}}}',
  );
  const toy = TOY.replace('native/build/host/toy', 'native/build/{preset}/toy')
    .replace('targets: [toy]', "targets: [toy], presetBy: {knob: on, pattern: '^(cuda):'}")
    .concat('  on: {type: string, flag: --on, effect: rounding, summary: s}\n');
  write(folder.path, { 'engines/toy.yaml': toy });
  const complete = loadProtocol(file, path.join(folder.path, 'engines'));
  const ensureModel = async () => 'm.gguf';
  const found = await findSubjects({ complete, root: folder.path, ensureModel });
  const programs = Object.values(found).map(({ binary }) => path.relative(folder.path, binary ?? ''));
  expect(programs).toEqual(['native/build/host/toy', 'native/build/cuda/toy', 'bin/toy-2']);
  expect(found['gpu']?.overrides).toEqual([]);
});

test('every kind of override is in the plan, in the command and in words', async () => {
  using folder = temporaryFolder();
  const { arms, ...rest } = await plan(
    folder.path,
    `  base:
  warm: {override: {sampling: {temperature: 0.7, seed: 3}}}
  weights: {rate: 6, override: {model: other.gguf}}
  made: {override: {model: {synth: {config: mini-s, seed: 2}}}}
  ours: {override: {model: {bundled: mini}}}
  full: {override: {model: {bundled: mini, form: teacher}}}
  laid: {override: {model: {synth: {config: mini-xs, seed: 2, expertFormat: mxfp4, denseFormat: f16, layout: a}}}}
  built: {override: {build: {binary: bin/toy-2}}}
  alien: {warp: 9, override: {engine: alien}}
  lossy: {bias: 0.5, override: {sampling: {topP: 0.9}}}`,
  );
  const shown = arms.map(({ name, engine, argv, overrides, sampling, lossyKnobs, lossyInUse = [] }) => {
    const command = argv.map((word) => word.replace(folder.path, '')).join(' ');
    const lossy = `lossy ${lossyKnobs}/${lossyInUse}`;
    return [name, engine, command, overrides.join('; '), JSON.stringify(sampling), lossy].join(' | ');
  });
  expect(shown).toMatchInlineSnapshot(`
    [
      "base | toy | /native/build/host/toy --model /m.gguf --room 1GiB |  |  | lossy /",
      "warm | toy | /native/build/host/toy --model /m.gguf --room 1GiB | temperature 0.7; seed 3 | {"temperature":0.7,"topP":1,"seed":3} | lossy /",
      "weights | toy | /native/build/host/toy --model /other.gguf --rate 6 --room 1GiB | model other.gguf |  | lossy /",
      "made | toy | /native/build/host/toy --model synth mini-s --room 1GiB | model synth:mini-s:2 |  | lossy /",
      "ours | toy | /native/build/host/toy --model bundled mini  --room 1GiB | model mini |  | lossy /",
      "full | toy | /native/build/host/toy --model bundled mini teacher --room 1GiB | model mini:teacher |  | lossy /",
      "laid | toy | /native/build/host/toy --model synth mini-xs --room 1GiB | model synth:mini-xs:2:mxfp4 dense f16 layout a |  | lossy /",
      "built | toy | /bin/toy-2 --model /m.gguf --room 1GiB | build bin/toy-2 |  | lossy /",
      "alien | alien | /native/build/host/alien --model /m.gguf --warp 9 | engine alien |  | lossy warp/warp",
      "lossy | toy | /native/build/host/toy --model /m.gguf --bias 0.5 --room 1GiB | top-p 0.9 | {"temperature":0,"topP":0.9,"seed":1} | lossy bias/bias",
    ]
  `);
  const report = planReport({ ...rest, arms }, { paint: NO_PAINT, ascii: false, width: 200 });
  expect(report).toContain('[temperature 0.7; seed 3]');
  expect(report).toContain('[lossy: bias; top-p 0.9]');
});

test('mistakes in an override are told where they are', async () => {
  using folder = temporaryFolder();
  const bad = async (arm: string): Promise<string> =>
    await problem(() => plan(folder.path, `  base:\n  odd: ${arm}`), folder.path);
  expect([
    await bad('{override: {}}'),
    await bad('{override: {weights: x}}'),
    await bad('{override: {build: {binary: a, ref: b}}}'),
    await bad('{override: {build: {binary: bin/gone}}}'),
    await bad('{override: {build: {ref: v1}}}'),
    await bad('{rate: 1, override: {engine: alien}}'),
    await bad('{override: {engine: alein}}'),
    await bad('{override: {engine: alien, build: {ref: v1}}}'),
    await bad('{override: {sampling: {temperature: -1}}}'),
    await bad('{override: other.gguf}'),
  ]).toMatchInlineSnapshot(`
    [
      "<folder>/p.yaml:8:19: arms.odd.override: overrides nothing: engine, model, build or sampling",
      "<folder>/p.yaml:8:20: arms.odd.override.weights: unknown key; valid: engine, model, build, sampling",
      "<folder>/p.yaml:8:27: arms.odd.override.build: needs binary (a path) or ref (a commit, branch or tag), and not both",
      "<folder>/p.yaml:8:36: there is no such program; arm odd would run <folder>/bin/gone",
      "<folder>/p.yaml:8:33: a build of a commit needs a git checkout; name a branch, a tag or a commit of this repository, or a program with binary",
      "<folder>/p.yaml:8:9: arms.odd.rate: the engine has no such knob; valid: warp, room",
      "<folder>/p.yaml:8:28: there is no engine "alein"; did you mean "alien"?",
      "<folder>/p.yaml:8:42: arms.odd.override.build: alien is not built by Rota",
      "<folder>/p.yaml:8:44: arms.odd.override.sampling.temperature: must be at least 0, got -1",
      "<folder>/p.yaml:8:19: arms.odd.override: expected a map, got "other.gguf"",
    ]
  `);
});

test('arms that differ by a spelt-out default or a unit alone are the same arm', async () => {
  using folder = temporaryFolder();
  const same = async (arm: string): Promise<string> =>
    await problem(() => plan(folder.path, `  base:\n  odd: ${arm}`), folder.path);
  expect(await same('{rate: 5}')).toMatchInlineSnapshot(
    `"<folder>/p.yaml:8:3: arms.odd: has the settings of base in other words: what differs is a default that is spelt out, or a unit; change a knob of one of them, or remove one"`,
  );
  expect(await same('{room: 1024MiB}')).toContain('has the settings of base in other words');
  expect(await same('{override: {engine: toy}}')).toContain('resolves to the same command line');
  expect(await same('{override: {model: m.gguf}}')).toContain('resolves to the same command line');
  expect(await same('{override: {sampling: {seed: 1}}}')).toContain('resolves to the same command line');
  expect((await plan(folder.path, '  base:\n  odd: {rate: 6}')).arms).toHaveLength(2);
});

const CMAKE = (word: string): string => `cmake_minimum_required(VERSION 3.22)
project(toy NONE)
add_custom_target(toy COMMAND \${CMAKE_COMMAND} -E echo ${word} > \${CMAKE_BINARY_DIR}/toy)
`;
const PRESETS = JSON.stringify({
  version: 3,
  configurePresets: [{ name: 'host', binaryDir: `\${sourceDir}/build/host` }],
  buildPresets: [{ name: 'host', configurePreset: 'host' }],
});

test('a build of another commit is made beside the tree, once, and the tree is left alone', async () => {
  using folder = temporaryFolder();
  const root = folder.path;
  const git = (...words: string[]): string =>
    execaSync('git', ['-C', root, '-c', 'user.name=t', '-c', 'user.email=t@t', ...words]).stdout;
  write(root, {
    'native/CMakeLists.txt': CMAKE('old'),
    'native/CMakePresets.json': PRESETS,
    'engines/toy.yaml': TOY,
  });
  git('init', '--quiet');
  git('add', '.');
  git('commit', '--quiet', '-m', 'old');
  git('tag', 'v1');
  write(root, { 'native/CMakeLists.txt': CMAKE('newer') });
  git('commit', '--quiet', '-a', '-m', 'newer');
  write(root, { 'native/CMakeLists.txt': CMAKE('new') });
  const { arms } = await plan(root, '  base:\n  old: {override: {build: {ref: v1}}}');
  const before = git('status', '--porcelain');
  const old = arms[1];
  const commit = git('rev-parse', 'v1');
  expect(old?.build).toEqual({ ref: 'v1', commit });
  expect(old?.overrides).toEqual([`build v1 (${commit.slice(0, 12)})`]);
  const built: string[] = [];
  const ensure = () =>
    ensureBuilds(
      { arms },
      {
        descriptorOf: (engine) => loadDescriptor(path.join(root, 'engines'), engine),
        root,
        onProgress: ({ ref, step }) => built.push(`${ref} ${step}`),
      },
    );
  await ensure();
  expect(readFileSync(old?.argv[0] ?? '', 'utf8').trim()).toBe('old');
  expect(new Set(built)).toEqual(new Set(['v1 configure', 'v1 compile']));
  built.length = 0;
  await ensure();
  expect(built).toEqual([]);
  expect(git('worktree', 'list').split('\n')).toHaveLength(1);
  expect(readFileSync(path.join(root, 'native/CMakeLists.txt'), 'utf8')).toBe(CMAKE('new'));
  expect(git('status', '--porcelain').replace('?? native/build/\n', '')).toBe(
    before.replace('?? native/build/\n', ''),
  );
  expect(readdirSync(path.join(root, 'native/build/commits'))).toEqual([commit.slice(0, 16)]);
});

test('a commit that is not there, and a folder that is no checkout', async () => {
  using folder = temporaryFolder();
  const root = folder.path;
  const arm = '  base:\n  old: {override: {build: {ref: v9}}}';
  expect(await problem(() => plan(root, arm), root)).toContain(
    'p.yaml:8:33: a build of a commit needs a git checkout',
  );
  execaSync('git', ['-C', root, 'init', '--quiet']);
  expect(await problem(() => plan(root, arm), root)).toContain('p.yaml:8:33: there is no commit "v9" here');
  const flag = '  base:\n  old: {override: {build: {ref: --help}}}';
  expect(await problem(() => plan(root, flag), root)).toContain('there is no commit "--help" here');
});
