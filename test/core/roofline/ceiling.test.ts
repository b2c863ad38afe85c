// Bytes per token and ceilings, by channel.

import { expect, test } from 'vitest';
import type { ChannelBytes } from '../../../src/core/records/answer.ts';
import { bytesPerToken, ceilingOf } from '../../../src/core/roofline/ceiling.ts';

const bytes: ChannelBytes = { hit: 1000, pcie: 200, cpu: 3000, file: 500, dense: 700, engram: 100 };
const fast = { memoryReadBytesPerSec: 1000, fileReadBytesPerSec: 1000 };

test('on the host device everything crosses the memory bus; with a device of its own hits and dense weights do not', () => {
  expect(bytesPerToken(bytes, 10, 'host')).toEqual({ host: 550, device: null, file: 50, toDevice: null });
  expect(bytesPerToken(bytes, 10, 'cuda:0')).toEqual({ host: 380, device: 170, file: 50, toDevice: 20 });
});

test('an unknown channel makes the sum unknown, and no tokens make no bytes per token', () => {
  expect(bytesPerToken({ ...bytes, engram: null }, 10, 'host')).toEqual({
    host: null,
    device: null,
    file: 50,
    toDevice: null,
  });
  expect(bytesPerToken({ ...bytes, file: null }, 10, 'cuda:0')).toEqual({
    host: null,
    device: 170,
    file: null,
    toDevice: 20,
  });
  expect(bytesPerToken(bytes, 0, 'host').host).toBeNull();
  expect(bytesPerToken(bytes, 10, null).host).toBeNull();
});

test('the channel that is busy the longest binds', () => {
  const perToken = bytesPerToken(bytes, 10, 'host');
  expect(ceilingOf(perToken, fast, 'host')).toEqual({ tokPerSec: 2, binds: 'host memory' });
  expect(ceilingOf(perToken, { ...fast, fileReadBytesPerSec: 10 }, 'host')).toEqual({
    tokPerSec: 0.2,
    binds: 'file',
  });
});

test('no ceiling without a measured bandwidth for bytes that moved', () => {
  const perToken = bytesPerToken(bytes, 10, 'host');
  expect(ceilingOf(perToken, { ...fast, fileReadBytesPerSec: null }, 'host')).toBeNull();
  expect(ceilingOf(perToken, { ...fast, memoryReadBytesPerSec: null }, 'host')).toBeNull();
  expect(ceilingOf(perToken, fast, 'cuda:0')).toBeNull();
});

test('a file channel that moved nothing needs no bandwidth', () => {
  const perToken = bytesPerToken({ ...bytes, file: 0 }, 10, 'host');
  expect(ceilingOf(perToken, { ...fast, fileReadBytesPerSec: null }, 'host')?.tokPerSec).toBe(2);
  expect(
    ceilingOf(
      bytesPerToken({ hit: 0, pcie: 0, cpu: 0, file: 0, dense: 0, engram: 0 }, 1, 'host'),
      fast,
      'host',
    ),
  ).toBeNull();
});

test.each([
  ['its memory', { deviceCopyBytesPerSec: 100, toDeviceBytesPerSec: 1000 }, 'device memory', 100 / 170],
  ['the way to it', { deviceCopyBytesPerSec: 1e6, toDeviceBytesPerSec: 10 }, 'to device', 10 / 20],
  ['the host', { deviceCopyBytesPerSec: 1e6, toDeviceBytesPerSec: 1e6 }, 'host memory', 1000 / 330],
] as const)('with a device of its own what is slowest binds: %s', (_, device, binds, tokPerSec) => {
  const ceiling = ceilingOf(bytesPerToken(bytes, 10, 'cuda:0'), { ...fast, ...device }, 'cuda:0');
  expect(ceiling?.binds).toBe(binds);
  expect(ceiling?.tokPerSec).toBeCloseTo(tokPerSec, 12);
});

test('of a device nothing is known by halves: another rate, other bytes or a second device, and there is no ceiling', () => {
  const perToken = bytesPerToken(bytes, 10, 'cuda:0');
  const both = { ...fast, deviceCopyBytesPerSec: 1e6, toDeviceBytesPerSec: 1e6 };
  const { toDeviceBytesPerSec: _, ...copyAlone } = both;
  expect(ceilingOf(perToken, copyAlone, 'cuda:0')).toBeNull();
  expect(ceilingOf(bytesPerToken({ ...bytes, dense: null }, 10, 'cuda:0'), both, 'cuda:0')).toBeNull();
  expect(ceilingOf(perToken, both, 'cuda:0 + host')).toBeNull();
});
