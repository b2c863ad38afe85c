// The ceilings of a session, from a probe that answers, fails, is missing or never ends.

import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/machine/clock.ts';
import { findProbe, measureCeiling } from '../../src/run/ceilings.ts';
import { Interrupted } from '../../src/run/interrupts.ts';
import { parseDescriptor } from '../../src/schema/descriptor.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';

/** A probe that runs the lines of a shell script. */
function probeOf(folder: string, script: string): { program: string; file: string; device: null } {
  const program = path.join(folder, 'rota-probe');
  writeFileSync(program, `#!/bin/sh\n${script}\n`);
  chmodSync(program, 0o755);
  return { program, file: '/models/m.gguf', device: null };
}

const how = { clock: systemClock, env: {}, signal: new AbortController().signal };
const report = (direct: boolean): string =>
  JSON.stringify({
    memory: { best_bytes_per_s: 2.5e10, kernel: 'avx2' },
    file: { best_bytes_per_s: 1.7e9, direct },
  });

test.each([
  ['past the page cache', true, 1.7e9],
  ['through the page cache it is no ceiling of the disk', false, null],
])('memory and file, %s', async (_, direct, fileRate) => {
  using folder = temporaryFolder();
  const event = await measureCeiling(probeOf(folder.path, `echo '${report(direct)}'`), 'before', how);
  expect(event).toMatchObject({
    when: 'before',
    memoryReadBytesPerSec: 2.5e10,
    fileReadBytesPerSec: fileRate,
  });
  expect(event.raw).toEqual(JSON.parse(report(direct)));
});

test('the probe is told which file to read', async () => {
  using folder = temporaryFolder();
  const echo = `echo "{\\"memory\\":{\\"best_bytes_per_s\\":1},\\"argv\\":\\"$*\\"}"`;
  const probe = probeOf(folder.path, echo);
  expect((await measureCeiling(probe, 'after', how)).raw).toHaveProperty(
    'argv',
    '--json --file /models/m.gguf',
  );
  const bare = await measureCeiling({ ...probe, file: null }, 'after', how);
  expect(bare.raw).toHaveProperty('argv', '--json');
  expect(bare.fileReadBytesPerSec).toBeNull();
});

test('a device of its own is measured with the rest', async () => {
  using folder = temporaryFolder();
  const device = '\\"device\\":{\\"copy_bytes_per_s\\":4.2e12,\\"from_host_bytes_per_s\\":5.5e10}';
  const echo = `echo "{\\"memory\\":{\\"best_bytes_per_s\\":1},${device},\\"argv\\":\\"$*\\"}"`;
  const event = await measureCeiling({ ...probeOf(folder.path, echo), device: 'cuda:1' }, 'before', how);
  expect(event).toMatchObject({ deviceCopyBytesPerSec: 4.2e12, toDeviceBytesPerSec: 5.5e10 });
  expect(event.raw).toHaveProperty('argv', '--json --file /models/m.gguf --device cuda:1');
});

test.each([
  [
    'fails',
    'echo "rota-probe: m.gguf: no such file" >&2; exit 3',
    'the probe failed: rota-probe: m.gguf: no such file',
  ],
  ['prints nothing', 'exit 0', 'the probe failed: it printed no report'],
  ['prints something else', 'echo "{}"', 'the probe failed: it printed no report'],
  [
    'prints a rate of 0',
    `echo '{"memory":{"best_bytes_per_s":0}}'`,
    'the probe failed: it printed no report',
  ],
])('a probe that %s leaves the ceilings unknown, and says why', async (_, script, raw) => {
  using folder = temporaryFolder();
  expect(await measureCeiling(probeOf(folder.path, script), 'before', how)).toMatchObject({
    memoryReadBytesPerSec: null,
    fileReadBytesPerSec: null,
    raw,
  });
});

test('without a probe there is no ceiling', async () => {
  expect(await measureCeiling(null, 'before', how)).toMatchObject({ memoryReadBytesPerSec: null });
});

test('Ctrl-C ends the probe too', async () => {
  using folder = temporaryFolder();
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Interrupted('SIGINT')), 100);
  const slow = measureCeiling(probeOf(folder.path, 'exec sleep 30'), 'before', {
    ...how,
    signal: controller.signal,
  });
  await expect(slow).rejects.toThrow('interrupted by SIGINT');
});

test('the probe of a bundled engine lies beside the programs of its arms; other engines have none', () => {
  using folder = temporaryFolder();
  const { descriptor } = parseDescriptor(
    `name: toy
summary: x
bundled: true
build: {preset: host, targets: [toy], presetBy: {knob: device, pattern: '^(cuda):'}}
binary: native/build/{preset}/bin/toy
command: [toy, '{model}']
transport: stdio
dialect: rota
tokenIds: true
counting: {file: disjoint, unit: lookup}
knobs:
  device: {type: string, flag: --device, effect: exact, summary: s}
`,
    'toy.yaml',
  );
  const find = (...devices: string[]) => {
    const knobs = (device: string) => (device === '' ? {} : { device });
    const arms = devices.map((device) => ({ model: '/none', knobs: knobs(device) }));
    return findProbe(descriptor, folder.path, arms);
  };
  expect(find('')).toBeNull();
  const programs = ['host', 'cuda'].map((preset) => {
    const bin = path.join(folder.path, 'native', 'build', preset, 'bin');
    mkdirSync(bin, { recursive: true });
    return probeOf(bin, 'exit 0').program;
  });
  const [host = '', cuda = ''] = programs;
  expect(find('', 'host')).toEqual({ program: host, file: null, device: null });
  expect(find('', 'cuda:2', 'cuda:3')).toEqual({ program: cuda, file: null, device: 'cuda:2' });
  const arms = [{ model: host, knobs: {} }];
  expect(findProbe(descriptor, folder.path, arms)).toEqual({ program: host, file: host, device: null });
  expect(findProbe({ ...descriptor, bundled: false }, folder.path, arms)).toBeNull();
});
