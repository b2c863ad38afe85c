// nvidia-smi's text, against real output of an H200 and against the spellings that drivers use for "not available".

import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type ComputeApp,
  type CsvRow,
  cellNumber,
  computeApp,
  createCsvReader,
  gpuSample,
  knownGpuFields,
  throttlesIn,
} from '../../src/machine/nvidia-smi-csv.ts';

const fixture = (name: string): string =>
  readFileSync(new URL(`../fixtures/nvidia-smi/${name}`, import.meta.url), 'utf8');

/** What the command printed whose line holds all the words. */
function printed(...words: string[]): string {
  const parts = fixture('smi.txt').split(/^##### /m);
  const part = parts.find((text) => words.every((word) => text.split('\n')[0]?.includes(word)));
  if (part === undefined) throw new Error(`no command with ${words.join(', ')} in the fixture`);
  return part.slice(part.indexOf('\n') + 1);
}

function rows(text: string, chunks: (text: string) => string[] = (whole) => [whole]): CsvRow[] {
  const found: CsvRow[] = [];
  const reader = createCsvReader('uuid', (row) => found.push(row));
  for (const chunk of chunks(text)) reader.push(chunk);
  return found;
}

const H200 = 'GPU-380f0678-861d-4993-96cb-2f1e8c42ffa9';
const OTHER_H200 = 'GPU-5142be95-ad2b-8c48-1422-2823d65ec2a7';
const fields = knownGpuFields(fixture('help-query-gpu.txt'));

test('the fields are asked of the driver', () => {
  expect(fields).toEqual({
    uuid: 'uuid',
    utilizationPercent: 'utilization.gpu',
    memoryUsedMib: 'memory.used',
    smClockMhz: 'clocks.sm',
    powerWatts: 'power.draw.instant',
    temperatureC: 'temperature.gpu',
    throttleReasons: 'clocks_event_reasons.active',
  });
  expect(knownGpuFields('"uuid"\n"clocks_throttle_reasons.active"')).toEqual({
    uuid: 'uuid',
    throttleReasons: 'clocks_throttle_reasons.active',
  });
  expect(knownGpuFields('"gpu_uuid"\n"power.draw"')).toEqual({ uuid: 'gpu_uuid', powerWatts: 'power.draw' });
  expect(knownGpuFields('')).toEqual({});
});

const loop = fixture('gpus-busy.txt');

test('a real loop under load, cut anywhere', () => {
  const whole = rows(loop).map((row) => gpuSample(row, fields));
  expect(whole).toHaveLength(10);
  expect(whole[0]).toEqual({
    uuid: OTHER_H200,
    utilizationPercent: 92,
    memoryUsedBytes: 723 * 1024 ** 2,
    smClockMhz: 1650,
    powerWatts: 717.17,
    temperatureC: 56,
    throttles: null,
  });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 400 }), (size) => {
      const cut = rows(loop, (text) => text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []);
      expect(cut.map((row) => gpuSample(row, fields))).toEqual(whole);
    }),
    { numRuns: 20 },
  );
});

test('with units, nothing is a number: a changed format is "not known", never a guess', () => {
  const [sample] = rows(printed('-lms 200')).map((row) => gpuSample(row, fields));
  expect(sample).toEqual({
    uuid: H200,
    utilizationPercent: null,
    memoryUsedBytes: null,
    smClockMhz: null,
    powerWatts: null,
    temperatureC: 65,
    throttles: ['power cap'],
  });
});

test('the reasons of a real card: idle is none, the power limit is one, under either name of the column', () => {
  const reasons = (text: string) => rows(text).map((row) => gpuSample(row, fields)?.throttles);
  expect(reasons(printed('clocks_event_reasons.active', '--format=csv'))).toEqual([[]]);
  expect(new Set(reasons(printed('-lms 200')).map(String))).toEqual(new Set(['power cap']));
  const older = { ...fields, throttleReasons: 'clocks_throttle_reasons.active' };
  const [row] = rows(`uuid, clocks_throttle_reasons.active\n${H200}, 0x00000000000000e8\n`);
  expect(row && gpuSample(row, older)?.throttles).toEqual([
    'hardware slowdown',
    'software thermal slowdown',
    'hardware thermal slowdown',
    'power brake',
  ]);
});

test.each(['[N/A]', 'Active', '4', '0x', '0x00000000000000041', undefined])(
  'reasons of another form are not known, never none: %s',
  (cell) => expect(throttlesIn(cell)).toBeNull(),
);

test.each([
  ['0x0', []],
  ['0x1', []],
  ['0x2', []],
  ['0x100', []],
  ['0x10', ['sync boost']],
])('idle and clocks that somebody set are no throttling: %s', (cell, reasons) =>
  expect(throttlesIn(cell)).toEqual(reasons),
);

test.each([
  '[N/A]',
  'N/A',
  '[Not Supported]',
  '[Insufficient Permissions]',
  '[Unknown Error]',
  '[GPU requires reset]',
  'ERR!',
  'Requested functionality has been deprecated',
  'nan',
  '-nan',
  'inf',
  '49,4',
  '1e5',
  '0x10',
  '',
  '12 %',
])('%s is not known', (cell) => {
  expect(cellNumber(cell)).toBeNull();
});

test('numbers are numbers', () => {
  expect(['0', '42', '-3', '80.72'].map(cellNumber)).toEqual([0, 42, -3, 80.72]);
});

test('two cards, lines of another shape, a share above 100 %', () => {
  const found: CsvRow[] = [];
  const reader = createCsvReader('uuid', (row) => found.push(row));
  reader.push(
    'uuid, utilization.gpu [%]\nGPU-1, 5\nGPU-2, 250\nUnable to determine the device handle\nGPU-1\nGPU-1, [N/A]\n',
  );
  const samples = found.map((row) => gpuSample(row, { uuid: 'uuid', utilizationPercent: 'utilization.gpu' }));
  expect(samples.map((sample) => [sample?.uuid, sample?.utilizationPercent])).toEqual([
    ['GPU-1', 5],
    ['GPU-2', null],
    ['GPU-1', null],
  ]);
  expect(reader.strayLines).toBe(2);
});

test('a row that names no card is none', () => {
  const [row] = rows('uuid, utilization.gpu [%]\n[N/A], 5\n');
  expect(row && gpuSample(row, { uuid: 'uuid' })).toBeNull();
});

test('compute processes of a real card, busy and idle', () => {
  const busy = rows(fixture('compute-apps-busy.txt')).map(computeApp);
  expect(busy.length).toBeGreaterThan(5);
  for (const app of busy) {
    expect(app).toEqual<ComputeApp>({ uuid: OTHER_H200, pid: 503, usedBytes: 714 * 1024 ** 2 });
  }
  expect(rows(fixture('compute-apps-idle.txt'))).toEqual([]);
});
