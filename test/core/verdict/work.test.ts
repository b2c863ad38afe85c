// What an arm did besides its speed: the parts of a pass, the channel that binds, the energy, and the line that says what bounds it.

import { expect, test } from 'vitest';
import type { GpuLoad } from '../../../src/core/records/journal.ts';
import { makeRecord, row, verdictOf } from './record.ts';

const gpu = (powerWatts: number | null): GpuLoad => ({
  uuid: 'GPU-1',
  utilizationPercent: 50,
  ownMemoryBytes: null,
  foreignMemoryBytes: null,
  smClockMhz: null,
  powerWatts,
  temperatureC: null,
});

test('the parts of a pass are the pass: what the ledger does not name is other', () => {
  // 63 tokens at 100 tok/s in 40 passes: 630 ms, 15.75 a pass.
  const ledger = () => ({ total: 620, draft: 20, dense: 100, experts: 480, pool: 300, fileWait: 100 });
  const { causes, msPerPass } = row(verdictOf(makeRecord({ ledger })), 'base');
  expect(msPerPass).toBe(15.75);
  expect(causes).toEqual({ draft: 0.5, dense: 2.5, pool: 7.5, fileWait: 2.5, other: 2.75 });
});

test('a part that one window does not tell is not told, and nothing told is no part at all', () => {
  const ledger = ({ block }: { block: number }) => (block === 1 ? { pool: 300 } : { pool: 300, dense: 100 });
  expect(row(verdictOf(makeRecord({ ledger })), 'base').causes).toEqual({
    ...{ draft: null, dense: null, pool: 7.5, fileWait: null, other: 8.25 },
  });
  expect(row(verdictOf(makeRecord()), 'base')).not.toHaveProperty('causes');
});

test('the channel whose bytes take longest binds', () => {
  // 9 MB from memory over 2 GB/s, 1 MB of a file over 1 GB/s; then memory ten times as fast, and the file a tenth.
  expect(row(verdictOf(makeRecord()), 'base').binds).toBe('host memory');
  expect(row(verdictOf(makeRecord({ ceilings: [20e9, 0.1e9] })), 'base').binds).toBe('file');
  expect(row(verdictOf(makeRecord({ ceilings: [null, null] })), 'base')).not.toHaveProperty('binds');
});

test('a device of its own has ceilings of its own, the best that was seen', () => {
  const device = 'cuda:0 NVIDIA H200';
  const verdict = verdictOf(makeRecord({ device, deviceCeilings: [1e6, 5e10] }));
  expect(verdict.ceilings).toMatchObject({ deviceCopyBytesPerSec: 1e6, toDeviceBytesPerSec: 5e10 });
  expect(row(verdict, 'base').binds).toBe('device memory');
  expect(verdictOf(makeRecord({ device })).ceilings).not.toHaveProperty('deviceCopyBytesPerSec');
  expect(row(verdictOf(makeRecord({ device })), 'base')).not.toHaveProperty('binds');
});

test('energy is power times time over tokens, and unknown as soon as one window has no power', () => {
  // Two GPUs of 100 W for half a second: 100 J for 64 tokens.
  const gpus = [gpu(100), gpu(100)];
  const answer = () => ({ wallMs: 500, load: { gpus } });
  expect(row(verdictOf(makeRecord({ answer })), 'base').joulesPerToken).toBe(1.5625);
  const broken = ({ block }: { block: number }) => ({
    wallMs: 500,
    load: { gpus: block === 2 ? [gpu(100), gpu(null)] : gpus },
  });
  expect(row(verdictOf(makeRecord({ answer: broken })), 'base')).not.toHaveProperty('joulesPerToken');
  expect(row(verdictOf(makeRecord()), 'base')).not.toHaveProperty('joulesPerToken');
});

test('one line an arm, over all its classes, the baseline first', () => {
  const ledger = ({ arm }: { arm: string }) => ({ pool: arm === 'base' ? 500 : 100, fileWait: 100 });
  const { bounds } = verdictOf(makeRecord({ ledger, classes: ['code', 'prose'], arms: ['fast', 'base'] }));
  expect(bounds?.map(({ arm, line }) => [arm, line.split('; ')[0]])).toEqual([
    ['base', 'CPU pool 79 % of a pass'],
    ['fast', 'other 68 % of a pass'],
  ]);
});
