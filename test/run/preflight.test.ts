// What is looked at before an hour is spent.

import path from 'node:path';
import { expect, test } from 'vitest';
import { EngineError, UserError } from '../../src/core/errors.ts';
import { systemClock } from '../../src/machine/clock.ts';
import { checkNeeds, foreignLoadNow, inheritedNotices } from '../../src/run/preflight.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';
import { fakeProtocol, preparedPlan } from './helpers/fake-session.ts';

const descriptorOf = (folder: string) => () =>
  fakeProtocol(folder, { a: {}, b: { rate: 9 } }).complete.descriptor;

function planIn(folder: string): ReturnType<typeof preparedPlan> {
  return preparedPlan(fakeProtocol(folder, { a: {}, b: { rate: 9 } }));
}

test('all is there', () => {
  using folder = temporaryFolder();
  expect(() => checkNeeds(planIn(folder.path), folder.path, descriptorOf(folder.path))).not.toThrow();
});

test.each([
  ['a path', ['/no/such/engine', 'x'], '/no/such/engine'],
  ['a name that is on no PATH', ['no-such-launcher', 'x'], 'no-such-launcher'],
  ['a bundled engine behind a launcher', ['env', '/no/such/rota-strata'], '/no/such/rota-strata'],
])('a missing program is named: %s', (_, argv, program) => {
  using folder = temporaryFolder();
  const plan = planIn(folder.path);
  const arms = plan.arms.map((arm) => ({ ...arm, argv }));
  expect(() => checkNeeds({ ...plan, arms }, folder.path, descriptorOf(folder.path))).toThrow(EngineError);
  expect(() => checkNeeds({ ...plan, arms }, folder.path, descriptorOf(folder.path))).toThrow(
    `${program} is missing or not executable: rota build fake`,
  );
});

test('a missing program of another preset is built by another command', () => {
  using folder = temporaryFolder();
  const plan = planIn(folder.path);
  const arms = plan.arms.map((arm) => ({ ...arm, argv: ['/no/such/engine'], knobs: { on: 'cuda:0' } }));
  const build = { preset: 'host', targets: [], presetBy: { knob: 'on', pattern: '^(cuda):' } };
  const ofGpus = () => ({ ...descriptorOf(folder.path)(), build });
  expect(() => checkNeeds({ ...plan, arms }, folder.path, ofGpus)).toThrow(
    '/no/such/engine is missing or not executable: rota build fake --preset cuda',
  );
});

test('a missing model is a mistake of the user', () => {
  using folder = temporaryFolder();
  const plan = planIn(folder.path);
  const model = path.join(folder.path, 'gone.gguf');
  const arms = plan.arms.map((arm) => ({ ...arm, model }));
  expect(() => checkNeeds({ ...plan, arms }, folder.path, descriptorOf(folder.path))).toThrow(
    new UserError('no such model', { where: model, hint: 'arm a would serve it' }),
  );
});

test('the load of others is told when it is above the guard, and only then', async () => {
  using folder = temporaryFolder();
  const plan = planIn(folder.path);
  const quiet = { ...plan, guards: { foreignCpuShare: 1, foreignGpuPercent: 15 } };
  expect(await foreignLoadNow(quiet, systemClock, [])).toBeNull();
  const strict = { ...plan, guards: { foreignCpuShare: -1, foreignGpuPercent: 15 } };
  const told = /^other programs use \d+ % of all cores now; windows above -100 % will be flagged$/;
  expect(await foreignLoadNow(strict, systemClock, [])).toMatch(told);
  const rerun = { ...strict, guards: { ...strict.guards, onTrip: 'rerun' } } as const;
  expect(await foreignLoadNow(rerun, systemClock, [])).toContain('will have their block measured again');
});

test('knobs set in the environment are told once for each engine', () => {
  using folder = temporaryFolder();
  const { complete } = fakeProtocol(folder.path, { a: {}, b: { rate: 9 } });
  const rate = { type: 'number', env: 'FAKE_RATE', effect: 'exact', summary: 's' } as const;
  const descriptorOf = () => ({ ...complete.descriptor, knobs: { rate } });
  const plan = planIn(folder.path);
  expect(inheritedNotices(plan, descriptorOf, { FAKE_RATE: '1' })).toEqual([
    'kept from the engine, for only an arm sets knobs: FAKE_RATE (rate) of the environment',
  ]);
  expect(inheritedNotices(plan, descriptorOf, {})).toEqual([]);
});
