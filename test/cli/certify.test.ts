// A certificate of noise is made of blocks that nobody disturbed; from too few of them there is none.

import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { certify } from '../../src/cli/certify.ts';
import type { Context } from '../../src/cli/context.ts';
import { openJournal } from '../../src/results/journal.ts';
import { createRunFolder } from '../../src/results/run-folder.ts';
import { writeVerdict } from '../../src/run/verdict-file.ts';
import { makePlan, makeRecord } from '../core/verdict/record.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';

afterEach(() => {
  process.exitCode = undefined;
});

/** What is printed, and told beside it, of identical arms of which others disturbed some blocks. */
function certified(disturbed: readonly number[]) {
  using results = temporaryFolder();
  const arms = ['A', 'B'];
  const { plan, events } = makeRecord({
    arms,
    blocks: 6,
    plan: { ...makePlan({ arms, blocks: 6 }), baseline: 'A' },
    answer: ({ arm, block }) => ({
      rate: 100 + block + (arm === 'A' ? 0.1 * (block % 3) : 0),
      foreignCpuShare: disturbed.includes(block) ? 0.5 : 0.01,
    }),
  });
  const folder = createRunFolder(results.path, plan, 'abc123');
  {
    using journal = openJournal(folder);
    for (const event of events) journal.append(event);
  }
  const said = { printed: '', told: '' };
  const context: Pick<Context, 'results' | 'print' | 'tell'> = {
    results: results.path,
    print: (text) => {
      said.printed += text;
    },
    tell: (text) => {
      said.told += text;
    },
  };
  certify(context as Context, { plan, verdict: writeVerdict(folder), folder }, false);
  const isKept = existsSync(path.join(results.path, 'certificates', `${folder.name}.json`));
  return { ...said, isKept, exitCode: process.exitCode };
}

test('blocks that others disturbed are left out, and it says so', () => {
  const alone = certified([]);
  expect(alone).toMatchObject({ isKept: true, exitCode: undefined });
  expect(alone.printed).toContain('from 6 blocks\n');
  expect(alone.printed).not.toContain('disturbed');
  const beside = certified([2, 5]);
  expect(beside).toMatchObject({ isKept: true, exitCode: undefined });
  expect(beside.printed).toContain('from 4 blocks\n! others disturbed 2 of 6 blocks, which are left out\n');
});

test('with fewer than three others there is none', () => {
  expect(certified([1, 2, 3, 4])).toEqual({
    printed: '',
    told: 'no certificate: a class has fewer than three blocks with both rates that nobody disturbed\n',
    isKept: false,
    exitCode: 3,
  });
});
