import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { expect, test } from 'vitest';
import { histories, triedWithoutGain } from '../../src/core/history/history.ts';
import { stableJson } from '../../src/core/stable-json.ts';
import { allVerdicts } from '../../src/results/list.ts';
import { makeRecord, verdictOf } from '../core/verdict/record.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';

test('a thousand runs are read, searched for changes and for what was tried in 2 s', () => {
  using folder = temporaryFolder();
  const record = makeRecord({ arms: ['base', 'fast'], classes: ['prose', 'code', 'enumeration'] });
  const verdict = verdictOf(record);
  for (let i = 0; i < 1000; i++) {
    const name = `2026-01-01T${String(i).padStart(6, '0')}Z-made-up-abcdef`;
    mkdirSync(join(folder.path, name));
    writeFileSync(join(folder.path, name, 'plan.json'), '{}');
    const level = i < 600 ? 1 : 0.9;
    const arms = verdict.arms.map((row) => ({
      ...row,
      tokPerSec: (row.tokPerSec ?? 0) * level * (1 + 0.01 * Math.sin(i * 7)),
    }));
    writeFileSync(join(folder.path, name, 'verdict.json'), stableJson({ ...verdict, arms, runFolder: name }));
  }
  // A folder that cannot be read hides no other.
  writeFileSync(join(folder.path, '2026-01-01T000003Z-made-up-abcdef', 'verdict.json'), '{');
  // Time of this process: other work on the machine does not count.
  const before = process.cpuUsage();
  const begin = performance.now();
  const verdicts = allVerdicts(folder.path);
  const series = histories(verdicts);
  const tried = triedWithoutGain(verdicts);
  const { user, system } = process.cpuUsage(before);
  expect(Math.min((user + system) / 1000, performance.now() - begin)).toBeLessThan(2000);
  expect(verdicts).toHaveLength(999);
  expect(tried).toHaveLength(999 * 3);
  expect(series).toHaveLength(6);
  for (const { changes } of series) expect(changes.map(({ index }) => index)).toEqual([599]);
});
