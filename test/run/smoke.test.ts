// The smoke test: every arm is started for a few tokens, and the ones that fail are told with their log.

import path from 'node:path';
import { expect, test, vi } from 'vitest';
import { encodePrompts } from '../../src/run/prepare.ts';
import { type SmokeResult, smoke } from '../../src/run/smoke.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';
import { fakeProtocol, LETTERS, preparedPlan } from './helpers/fake-session.ts';

vi.setConfig({ testTimeout: 60_000 });

test('each arm works or says why not', async () => {
  using folder = temporaryFolder();
  const arms = {
    good: {},
    bad: { play: 'crash-at-load' },
    silent: { play: 'zero-tokens' },
    hard: { play: 'stubborn' },
  };
  const protocol = fakeProtocol(folder.path, arms);
  const plan = preparedPlan(protocol);
  const told: SmokeResult[] = [];
  const results = await smoke({
    plan,
    descriptorOf: () => protocol.complete.descriptor,
    promptIds: await encodePrompts(plan, async () => LETTERS),
    logFolder: folder.path,
    command: 'rota run --smoke',
    shareMachine: false,
    onResult: (result) => told.push(result),
    lockFolder: folder.path,
  });
  expect(told).toEqual(results);
  expect(results.map(({ arm, problem, tokens }) => [arm, problem, tokens])).toEqual([
    ['good', null, 16],
    ['bad', 'the engine ended while it should get ready: exit code 3', 0],
    ['silent', 'it answered without a token', 0],
    ['hard', null, 16],
  ]);
  expect(results[1]?.logTail.at(-1)).toBe('error: model.gguf: truncated at byte 4096');
  expect(path.basename(plan.arms[0]?.model ?? '')).toBe('model');
});
