// The grammar of the /proc files that are sampled.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  parseCpuTicks,
  parseDiskReadBytes,
  parseLoadAverage1,
  parseMeminfo,
  parsePidStat,
  parseStorageReadBytes,
} from '../../src/machine/proc-parse.ts';

test('cpu ticks: waiting for a disk is idle, stolen time is busy, guest time is not counted twice', () => {
  const text =
    'cpu  100 5 20 1000 30 1 2 7 60 3\ncpu0 50 0 10 500 15 0 1 3 0 0\ncpu1 50 5 10 500 15 1 1 4 0 0\nintr 9\n';
  expect(parseCpuTicks(text)).toEqual({ total: 1165, busy: 135, stolen: 7, interrupts: 3, cores: 2 });
  expect(parseCpuTicks('intr 9\n')).toBeNull();
});

test('a process may be named like anything', () => {
  const rest = `S 10 20 30 0 -1 4194304 1 2 3 4 50 60 7 8 20 0 1 0 9999 ${'0 '.repeat(20)}`;
  fc.assert(
    fc.property(fc.string({ maxLength: 15 }), (name) => {
      expect(parsePidStat(`42 (${name}) ${rest}`)).toEqual({
        pid: 42,
        name,
        state: 'S',
        parent: 10,
        group: 20,
        session: 30,
        ticks: 110,
        childTicks: 15,
        startTicks: 9999,
      });
    }),
  );
  expect(parsePidStat('42 (x) S 1')).toBeNull();
  expect(parsePidStat('')).toBeNull();
});

test('memory, load and storage: what is not there is not known', () => {
  expect(parseMeminfo('MemTotal:  100 kB\nMemAvailable:   60 kB\n', 'MemAvailable')).toBe(61_440);
  expect(parseMeminfo('MemTotal: 100 kB\n', 'MemAvailable')).toBeNull();
  expect(parseLoadAverage1('1.25 0.5 0.1 1/100 4\n')).toBe(1.25);
  expect(parseLoadAverage1('')).toBeNull();
  expect(parseStorageReadBytes('rchar: 9\nread_bytes: 4096\n')).toBe(4096);
  expect(parseStorageReadBytes('')).toBeNull();
});

test('bytes read from whole devices only', () => {
  const text =
    ' 254 0 vda 10 0 100 5 0 0 0\n 254 1 vda1 10 0 90 5 0 0 0\n 259 0 nvme0n1 1 0 7 0 0\n 7 0 loop0 9 0 999 0\n';
  expect(parseDiskReadBytes(text, new Set(['vda', 'nvme0n1']))).toBe(107 * 512);
  expect(parseDiskReadBytes(text, new Set(['sda']))).toBeNull();
});
