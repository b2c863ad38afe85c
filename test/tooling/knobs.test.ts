// The check of the knobs: passes a small good tree and names each thing that is missing in a bad one.
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { knobs } from './checks/knobs.js';
import { bundledEngines, knobTable, pageWith } from './knob-docs.js';

const trees: string[] = [];
afterEach(() => {
  for (const tree of trees.splice(0)) rmSync(tree, { recursive: true, force: true });
});

const PAGE = `# toy

Written by hand.

<!-- The knobs: written by \`npm run docs\` from the descriptor. -->
<!-- The knobs end here. -->
Also by hand.
`;

const KNOBS = `
  # First things
  speed:
    {type: int, flag: --speed, min: 1, max: 9, default: 3, aliases: [TOY_SPEED], effect: exact, summary: How fast, provenBy: test/toy.test.ts}
  # Second things
  quiet:
    {type: bool, flag: --quiet, default: false, aliases: [{name: TOY_LOUD, values: {'1': off}}], effect: lossy, summary: Says on|off, provenBy: test/toy.test.ts}`;
const HELP =
  '  --model PATH  it\n  --speed N     how fast [TOY_SPEED]\n  --quiet on    or not [TOY_LOUD]\n  --help        this\n';
const TEST = "describe('knob: speed', () => {});\ndescribe('knob: quiet', () => {});\n";

function plant({ all = KNOBS, help = HELP, proofs = TEST, page = PAGE } = {}): string {
  const tree = mkdtempSync(join(tmpdir(), 'rota-knobs-'));
  trees.push(tree);
  const files = {
    'engines/toy.yaml': `name: toy\nbundled: true\nbinary: bin/toy\nknobs:${all}\n`,
    'engines/foreign.yaml': 'name: foreign\nknobs: {x: {type: int, flag: --x, effect: exact, summary: s}}\n',
    'docs/toy.md': page,
    'test/toy.test.ts': proofs,
    'bin/toy': `#!/bin/sh\ncat <<'END'\n${help}END\n`,
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(tree, name)), { recursive: true });
    writeFileSync(join(tree, name), text);
  }
  chmodSync(join(tree, 'bin/toy'), 0o755);
  return tree;
}

/** As `npm run docs` does. */
function write(tree: string): string {
  for (const engine of bundledEngines(tree)) {
    const file = join(tree, 'docs', `${engine.name}.md`);
    writeFileSync(file, pageWith(readFileSync(file, 'utf8'), knobTable(engine.knobs)) ?? 'no place');
  }
  return tree;
}

describe('the table of knobs', () => {
  it('is made from the descriptor, and stands between what was written by hand', () => {
    expect(readFileSync(join(write(plant()), 'docs/toy.md'), 'utf8')).toMatchInlineSnapshot(`
      "# toy

      Written by hand.

      <!-- The knobs: written by \`npm run docs\` from the descriptor. -->

      ### First things

      | knob | given as | also known as | values | default | effect | what it does | proven by |
      |---|---|---|---|---|---|---|---|
      | \`speed\` | \`--speed\` | \`TOY_SPEED\` | int 1 to 9 | \`3\` | exact | How fast | [toy](../test/toy.test.ts) |

      ### Second things

      | knob | given as | also known as | values | default | effect | what it does | proven by |
      |---|---|---|---|---|---|---|---|
      | \`quiet\` | \`--quiet\` | \`TOY_LOUD\` (1 is off) | \`on\`, \`off\` | \`off\` | lossy | Says on\\|off | [toy](../test/toy.test.ts) |

      <!-- The knobs end here. -->
      Also by hand.
      "
    `);
  });
});

describe('the check', () => {
  it('passes when all is written down, known and proven', () => {
    expect(knobs(write(plant()))).toEqual({ passed: 1, failures: [], note: '2 knobs' });
  });

  it.each([
    ['a table that is old', plant, 'docs/toy.md: the knobs are not those of the descriptor: npm run docs'],
    ['a page without a place', () => plant({ page: '# toy\n' }), 'docs/toy.md: has no place for the knobs'],
    [
      'a knob without a proof',
      () => write(plant({ all: KNOBS.replaceAll(', provenBy: test/toy.test.ts}', '}') })),
      'engines/toy.yaml: speed has no provenBy\nengines/toy.yaml: quiet has no provenBy',
    ],
    [
      'a proof of another knob',
      () =>
        write(
          plant({ proofs: "describe('knob: speed', () => {});\ndescribe('knob: quieter', () => {});\n" }),
        ),
      "engines/toy.yaml: quiet: test/toy.test.ts lacks describe('knob: quiet', …)",
    ],
    [
      'a proof that is not there',
      () => write(plant({ all: KNOBS.replace('test/toy.test.ts', 'test/gone.test.ts') })),
      'engines/toy.yaml: speed: there is no test/gone.test.ts',
    ],
    [
      'a flag and a variable that the engine does not know',
      () => write(plant({ help: HELP.replace('--speed', '--pace').replace('TOY_SPEED', 'TOY_PACE') })),
      `engines/toy.yaml: bin/toy --help knows no --speed
engines/toy.yaml: no knob has --pace of bin/toy --help
engines/toy.yaml: bin/toy --help knows no variable TOY_SPEED
engines/toy.yaml: no knob has the alias TOY_PACE of bin/toy --help`,
    ],
    [
      'an engine that is not built',
      () => {
        const tree = write(plant());
        rmSync(join(tree, 'bin/toy'));
        return tree;
      },
      'bin/toy --help says nothing: is it built?',
    ],
  ])('names %s', (_, make, says) => {
    expect(knobs(make()).failures.join('\n')).toBe(says);
  });

  it('fails when it sees no knobs', () => {
    const tree = mkdtempSync(join(tmpdir(), 'rota-knobs-'));
    trees.push(tree);
    expect(knobs(tree).failures).toEqual(['saw no knobs: the check guards nothing']);
  });
});
