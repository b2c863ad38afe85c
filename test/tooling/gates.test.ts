// A gate is proven by breaking what it guards: each check must pass a small good tree, name what was planted in a bad one, and
// fail when it sees nothing.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { biome } from './checks/biome.js';
import { clangFormat } from './checks/clang-format.js';
import { deadCode } from './checks/dead-code.js';
import { fileShape } from './checks/file-shape.js';
import { importArrows } from './checks/import-arrows.js';
import { loneHeaders, nativeArrows } from './checks/native-arrows.js';
import type { CheckResult } from './checks/result.js';
import { ctest, vitest } from './checks/suites.js';
import { treeSize } from './checks/tree-size.js';
import { types } from './checks/types.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SETTINGS = [
  'package.json',
  'tsconfig.json',
  'biome.json',
  'knip.json',
  '.clang-format',
  'test/tooling/arrows.cjs',
];
const trees: string[] = [];
afterEach(() => {
  for (const tree of trees.splice(0)) rmSync(tree, { recursive: true, force: true });
});

/** A tree with the project's own settings and these files. */
function plant(files: Readonly<Record<string, string>>): string {
  const tree = mkdtempSync(join(tmpdir(), 'rota-gate-'));
  trees.push(tree);
  for (const name of SETTINGS) cpSync(join(ROOT, name), join(tree, name));
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(tree, name)), { recursive: true });
    writeFileSync(join(tree, name), text);
  }
  return tree;
}

type Check = (root: string) => CheckResult | Promise<CheckResult>;

async function failures(check: Check, files: Readonly<Record<string, string>>): Promise<string> {
  return (await check(plant(files))).failures.join('\n');
}

const GOOD_TS = '// Owns one number.\nexport const one = 1;\n';
const USES_ONE = "// Starts.\nimport { one } from '../core/one.ts';\n\nprocess.exitCode = one;\n";
const GOOD_HEADER =
  '// Owns one number.\n#pragma once\n\nnamespace rota {\ninline int one() { return 1; }\n}  // namespace rota\n';

/** The project's own lists of packages and entries name files that a planted tree has not. */
const ALONE = {
  'package.json': '{ "name": "x", "type": "module" }\n',
  'knip.json': '{ "entry": ["src/cli/main.ts"], "project": ["src/**/*.ts"] }\n',
};

interface Gate {
  readonly name: string;
  readonly check: Check;
  readonly good: Readonly<Record<string, string>>;
  readonly bad: Readonly<Record<string, string>>;
  readonly says: RegExp;
}

const GATES: readonly Gate[] = [
  {
    name: 'formatting of TypeScript',
    check: (root) => biome(root, 'format'),
    good: { 'src/core/one.ts': GOOD_TS },
    bad: { 'src/core/one.ts': '// x\nexport const one   =  1\n' },
    says: /one\.ts/,
  },
  {
    name: 'lint of TypeScript',
    check: (root) => biome(root, 'lint'),
    good: { 'src/core/one.ts': GOOD_TS },
    bad: { 'src/core/one.ts': '// x\nexport const one = (x: any) => x!;\n' },
    says: /noExplicitAny|noNonNullAssertion/,
  },
  {
    name: 'lint of tests: none may be skipped or alone',
    check: (root) => biome(root, 'lint'),
    good: { 'test/x.test.ts': "import { it } from 'vitest';\n\nit('x', () => {});\n" },
    bad: {
      'test/x.test.ts': "import { it } from 'vitest';\n\nit.only('x', () => {});\nit.skip('y', () => {});\n",
    },
    says: /noFocusedTests/,
  },
  {
    name: 'length of a function',
    check: (root) => biome(root, 'lint'),
    good: {
      'src/core/one.ts': `// x\nexport function one(): number {\n${'  step();\n'.repeat(55)}  return 1;\n}\n`,
    },
    bad: {
      'src/core/one.ts': `// x\nexport function one(): number {\n${'  step();\n'.repeat(65)}  return 1;\n}\n`,
    },
    says: /one\.ts.*noExcessiveLinesPerFunction/,
  },
  {
    name: 'formatting of C++',
    check: clangFormat,
    good: { 'native/base/one.h': GOOD_HEADER },
    bad: { 'native/base/one.h': GOOD_HEADER.replace('return 1;', 'return   1;') },
    says: /native\/base\/one\.h: not formatted/,
  },
  {
    name: 'length of a file',
    check: fileShape,
    good: { 'src/core/one.ts': `// x\n${'\n'.repeat(299)}` },
    bad: { 'src/core/one.ts': `// x\n${'\n'.repeat(300)}` },
    says: /src\/core\/one\.ts: 301 lines; 300 at most/,
  },
  {
    name: 'first line of a file',
    check: fileShape,
    good: { 'native/base/one.h': GOOD_HEADER, 'native/base/one.cc': '#include "base/one.h"\n' },
    bad: { 'native/base/one.cc': '#include <span>\n' },
    says: /native\/base\/one\.cc: its first line/,
  },
  {
    name: 'things left to do',
    check: fileShape,
    good: { 'src/core/one.ts': GOOD_TS },
    bad: { 'src/core/one.ts': `${GOOD_TS}// ${'TO'}${'DO'}: more\n` },
    says: /one\.ts:3: something is left to do/,
  },
  {
    name: 'types',
    check: types,
    good: { 'src/core/one.ts': GOOD_TS },
    bad: { 'src/core/one.ts': '// x\nexport const one: string = 1;\n' },
    says: /one\.ts.*TS2322/,
  },
  {
    name: 'dead code',
    check: deadCode,
    good: { ...ALONE, 'src/core/one.ts': GOOD_TS, 'src/cli/main.ts': USES_ONE },
    bad: {
      ...ALONE,
      'src/core/one.ts': `${GOOD_TS}export const two = 2;\n`,
      'src/core/lost.ts': GOOD_TS,
      'src/cli/main.ts': USES_ONE,
    },
    says: /lost\.ts[\s\S]*two/,
  },
  {
    name: 'arrows: nothing imports upwards',
    check: importArrows,
    good: { 'src/core/one.ts': GOOD_TS, 'src/cli/main.ts': USES_ONE },
    bad: { 'src/cli/one.ts': GOOD_TS, 'src/model/main.ts': USES_ONE.replace('core', 'cli') },
    says: /src\/model\/main\.ts -> src\/cli\/one\.ts: engines-machine-model-results-schema-upwards/,
  },
  {
    name: 'arrows: core is pure',
    check: importArrows,
    good: { 'src/model/x.ts': "// x\nimport 'node:fs';\n" },
    bad: { 'src/core/x.ts': "// x\nimport type { Stats } from 'node:fs';\nexport type X = Stats;\n" },
    says: /core\/x\.ts -> fs: core-is-pure/,
  },
  {
    name: 'arrows: every room has its place',
    check: importArrows,
    good: { 'src/core/one.ts': GOOD_TS, 'src/cli/main.ts': USES_ONE },
    bad: { 'src/attic/one.ts': GOOD_TS, 'src/cli/main.ts': USES_ONE.replace('core', 'attic') },
    says: /unknown-room/,
  },
  {
    name: 'arrows of native: nothing includes upwards',
    check: nativeArrows,
    good: {
      'native/base/one.h': GOOD_HEADER,
      'native/model/x.h': '// x\n#pragma once\n#include "base/one.h"\n',
    },
    bad: {
      'native/model/one.h': GOOD_HEADER,
      'native/base/x.h': '// x\n#pragma once\n#include "model/one.h"\n',
    },
    says: /native\/base\/x\.h: includes "model\/one\.h" of a layer above/,
  },
  {
    name: 'arrows of native: an include names its room',
    check: nativeArrows,
    good: { 'native/base/one.h': GOOD_HEADER },
    bad: { 'native/base/one.h': GOOD_HEADER, 'native/model/x.h': '// x\n#include "../base/one.h"\n' },
    says: /no room's/,
  },
  {
    name: 'a source includes its own header first',
    check: nativeArrows,
    good: {
      'native/base/one.h': GOOD_HEADER,
      'native/base/one.cc': '#include "base/one.h"\n\n#include <span>\n',
    },
    bad: {
      'native/base/one.h': GOOD_HEADER,
      'native/base/one.cc': '#include <span>\n\n#include "base/one.h"\n',
    },
    says: /must include its own "base\/one\.h" first/,
  },
  {
    name: 'a header compiles alone',
    check: loneHeaders,
    good: { 'native/base/one.h': GOOD_HEADER },
    bad: { 'native/base/one.h': GOOD_HEADER.replace('int one', 'std::size_t one') },
    says: /native\/base\/one\.h: does not compile alone/,
  },
  {
    name: 'the TypeScript suite',
    check: (root) => vitest(root, () => {}),
    good: {
      'test/x.test.ts': "import { expect, it } from 'vitest';\nit('x', () => { expect(1).toBe(1); });\n",
    },
    bad: {
      'test/x.test.ts':
        "import { expect, it } from 'vitest';\nit('x', () => { expect(1).toBe(2); });\nit('y', () => {});\n",
    },
    says: /FAIL.*x\.test\.ts[\s\S]*exit 1/,
  },
];

describe.each(GATES)('$name', ({ check, good, bad, says }) => {
  it('passes a good tree', async () => {
    const result = await check(plant(good));
    expect(result.failures).toEqual([]);
    expect(result.passed).toBe(1);
  });
  it('names what was planted', async () => {
    expect(await failures(check, bad)).toMatch(says);
  });
});

describe('a check that sees nothing has failed', () => {
  const empty: readonly (readonly [string, Check])[] = [
    ['format', (root) => biome(root, 'format')],
    ['clang-format', clangFormat],
    ['dead code', deadCode],
    ['import arrows', importArrows],
    ['native arrows', nativeArrows],
    ['lone headers', loneHeaders],
    ['vitest', (root) => vitest(root, () => {})],
    ['ctest', (root) => ctest(root, () => {})],
  ];
  it.each(empty)('%s', async (_, check) => {
    const tree = plant({});
    rmSync(join(tree, 'test'), { recursive: true });
    for (const name of ['package.json', 'tsconfig.json', 'knip.json']) rmSync(join(tree, name));
    writeFileSync(join(tree, 'biome.json'), '{ "files": { "includes": ["src/**"] } }');
    const result = await check(tree);
    expect(result.passed).toBe(0);
    expect(result.failures).not.toEqual([]);
  });
});

describe('the size of the tracked tree', () => {
  it('is measured on tracked files only', () => {
    const tree = plant({ 'a.bin': 'x'.repeat(1000), 'untracked.bin': 'x'.repeat(5000) });
    const git = (...argv: string[]) => spawnSync('git', argv, { cwd: tree });
    git('init', '-q');
    git('add', 'a.bin');
    expect(treeSize(tree, 1000).failures).toEqual([]);
    expect(treeSize(tree, 999).failures).toEqual(['the tracked tree is 1000 bytes; 999 at most']);
  });
  it('is waived, and not passed, where nothing is tracked', () => {
    expect(treeSize(plant({}))).toEqual({ passed: 0, failures: [], note: 'waived: not a git checkout' });
  });
});

describe('ctest counts doctest cases', () => {
  const fake = (passed: number, failed: number): string =>
    `add_test(x "/bin/sh" "-c" "echo '[doc''test] test cases: ${passed + failed} | ${passed} passed | ${failed} failed | 0 skipped'; exit ${failed > 0 ? 1 : 0}")\n`;
  it('and fails with them', async () => {
    const good = plant({ 'native/build/host/CTestTestfile.cmake': fake(7, 0) });
    expect(await ctest(good, () => {})).toEqual({ passed: 7, failures: [], note: '7 tests' });
    const bad = plant({ 'native/build/host/CTestTestfile.cmake': fake(5, 2) });
    expect(await ctest(bad, () => {})).toMatchObject({ passed: 5, failed: 2 });
  });
});
