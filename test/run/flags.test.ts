// What is worth a flag on a window, one fact at a time.

import { expect, test } from 'vitest';
import type { GpuLoad, WindowLoad } from '../../src/core/records/journal.ts';
import { readDone } from '../../src/engines/rota-dialect.ts';
import { type WindowFacts, windowFlags } from '../../src/run/flags.ts';

const GPU: GpuLoad = {
  uuid: 'GPU-1',
  utilizationPercent: 90,
  ownMemoryBytes: 1,
  foreignMemoryBytes: 0,
  smClockMhz: null,
  powerWatts: null,
  temperatureC: null,
};

const LOAD: WindowLoad = {
  ownCpuShare: 0.5,
  foreignCpuShare: 0.1,
  threadCpuShare: null,
  rotaCpuShare: 0.001,
  loadAverage1: 9,
  memAvailableBytes: 1,
  diskReadBytes: 0,
  gpus: [GPU],
};

function done(more: Record<string, unknown> = {}): WindowFacts['answer'] {
  const body = {
    event: 'done',
    ids: [1, 2, 3],
    finish: 'length',
    timings: { predicted_ms: 20, cache_n: 0 },
    ttft_ms: 5,
    ...more,
  };
  return readDone({ event: 'done', id: 1, body, nonFinite: false });
}

const CLEAN: WindowFacts = {
  arm: {},
  ready: { device: 'x', fingerprint: null, moeLayers: 2, topK: 2, vocab: 10, lossyKnobs: [], raw: null },
  request: { prompt: [1], maxNew: 3, temperature: 0, topP: 1, seed: 1, ignoreEos: true, stop: [] },
  answer: done(),
  wallMs: 30,
  clockStepped: false,
  strayLines: 0,
  load: LOAD,
  guards: { foreignCpuShare: 0.1, foreignGpuPercent: 15 },
  changedWeights: null,
};

test('a clean window has no flag', () => {
  expect(windowFlags(CLEAN)).toEqual([]);
});

const gpus = (more: Partial<GpuLoad>): WindowLoad => ({ ...LOAD, gpus: [{ ...GPU, ...more }] });

test.each<[string, Partial<WindowFacts>, string[]]>([
  ['no token', { answer: done({ ids: [] }) }, ['no token came']],
  ['too few', { answer: done({ ids: [1] }) }, ['not the length that was asked for']],
  [
    'too many, where it may end earlier',
    { answer: done({ ids: [1, 2, 3, 4] }), request: { ...CLEAN.request, ignoreEos: false } },
    ['longer than was asked for'],
  ],
  [
    'an early end where it may end earlier',
    { answer: done({ ids: [1], finish: 'stop' }), request: { ...CLEAN.request, ignoreEos: false } },
    [],
  ],
  ['no reason', { answer: done({ finish: undefined }) }, ['no finish reason']],
  ['no ids', { answer: done({ ids: undefined, timings: { predicted_n: 3 } }) }, ['no token ids']],
  ['ids beyond', { answer: done({ ids: [1, 2, 10] }) }, ['ids beyond the vocabulary']],
  [
    'contradiction',
    { answer: done({ counters: { offered: 1, accepted: 2 } }) },
    ['counters contradict themselves'],
  ],
  ['a refused number', { answer: done({ ttft_ms: -1 }) }, ['numbers that cannot be believed']],
  ['other weights', { changedWeights: 'model' }, ['other weights than in the runs before']],
  ['another drafter', { changedWeights: 'drafter' }, ['another drafter than in the runs before']],
  ['a warm cache', { answer: done({ timings: { cache_n: 1 } }) }, ['the prompt was partly cached']],
  ['noise', { strayLines: 3 }, ['unexpected output on stdout']],
  ['a step', { clockStepped: true }, ['the wall clock stepped']],
  ['a claim of the whole', { wallMs: 19 }, ['the engine claims more time than passed']],
  [
    'a claim of the passes',
    { answer: done({ pass_ms: [20, 20] }) },
    ['the engine claims more time than passed'],
  ],
  ['foreign CPU', { load: { ...LOAD, foreignCpuShare: 0.11 } }, ['foreign CPU load']],
  ['unknown foreign CPU', { load: { ...LOAD, foreignCpuShare: null } }, []],
  [
    'a foreign process on a busy card',
    { load: gpus({ foreignMemoryBytes: 1 }) },
    ['foreign processes on a busy GPU'],
  ],
  [
    'a card that throttled',
    { load: gpus({ throttles: ['power cap', 'hardware slowdown'] }) },
    ['the GPU throttled (hardware slowdown)', 'the GPU throttled (power cap)'],
  ],
  ['a card that did not', { load: gpus({ throttles: [] }) }, []],
  ['one on an idle card', { load: gpus({ foreignMemoryBytes: 1, utilizationPercent: 3 }) }, []],
  ['no GPU', { load: { ...LOAD, gpus: null } }, []],
])('%s', (_, facts, flags) => {
  expect(windowFlags({ ...CLEAN, ...facts })).toEqual(flags);
});
