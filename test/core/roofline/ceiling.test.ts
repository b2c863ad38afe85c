// Bytes per token and ceilings, by channel.

import { expect, test } from 'vitest';
import type { ChannelBytes } from '../../../src/core/records/answer.ts';
import { bytesPerToken, ceilingOf } from '../../../src/core/roofline/ceiling.ts';

const bytes: ChannelBytes = { hit: 1000, pcie: 200, cpu: 3000, file: 500, dense: 700, engram: 100 };
const fast = { memoryReadBytesPerSec: 1000, fileReadBytesPerSec: 1000 };

test('on the host device everything crosses the memory bus; with a device of its own hits and dense weights do not', () => {
  expect(bytesPerToken(bytes, 10, 'host')).toEqual({ host: 550, device: null, file: 50 });
  expect(bytesPerToken(bytes, 10, 'cuda:0')).toEqual({ host: 380, device: 170, file: 50 });
});

test('an unknown channel makes the sum unknown, and no tokens make no bytes per token', () => {
  expect(bytesPerToken({ ...bytes, engram: null }, 10, 'host')).toEqual({
    host: null,
    device: null,
    file: 50,
  });
  expect(bytesPerToken({ ...bytes, file: null }, 10, 'cuda:0')).toEqual({
    host: null,
    device: 170,
    file: null,
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
