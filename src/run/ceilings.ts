// Owns the ceilings of a session: what this machine's memory, disk and GPU can do at best, measured by the bandwidth probe in the same
// session as the runs. Without a probe they are unknown.

import { existsSync } from 'node:fs';
import path from 'node:path';
import { execa } from 'execa';
import { z } from 'zod';
import type { JournalEvent } from '../core/records/journal.ts';
import type { PlannedArm } from '../core/records/plan.ts';
import { presetOf } from '../engines/build.ts';
import { type Clock, utcOf } from '../machine/clock.ts';
import type { EngineDescriptor } from '../schema/descriptor.ts';

export interface Probe {
  readonly program: string;
  /** Also measures reading this file past the page cache. */
  readonly file: string | null;
  /** Also measures this device's memory, and what reaches it from the host's. */
  readonly device: string | null;
}

const PROBE = 'rota-probe';
const TIMEOUT_MS = 120_000;

/** A bundled engine is built together with the probe; for others there is none. Of several devices the first is measured. */
export function findProbe(
  descriptor: EngineDescriptor,
  root: string,
  arms: readonly Pick<PlannedArm, 'model' | 'knobs'>[],
): Probe | null {
  const { bundled, build } = descriptor;
  const usual = presetOf(descriptor, {});
  const arm = arms.find(({ knobs }) => presetOf(descriptor, knobs) !== usual) ?? arms[0];
  if (!bundled || build === undefined || arm === undefined) return null;
  const preset = presetOf(descriptor, arm.knobs);
  const program = path.join(root, 'native', 'build', preset, 'bin', PROBE);
  if (!existsSync(program)) return null;
  const device = preset === usual ? null : String(arm.knobs[build.presetBy?.knob ?? '']);
  return { program, file: existsSync(arm.model) ? arm.model : null, device };
}

const rate = z.number().positive();

/** What is read of the probe's report; the whole of it goes into the journal. */
const probeReport = z.object({
  memory: z.object({ best_bytes_per_s: rate }),
  file: z.object({ best_bytes_per_s: rate, direct: z.boolean() }).optional(),
  device: z.object({ copy_bytes_per_s: rate, from_host_bytes_per_s: rate }).optional(),
});

export type CeilingEvent = Extract<JournalEvent, { type: 'ceiling' }>;

export async function measureCeiling(
  probe: Probe | null,
  when: CeilingEvent['when'],
  how: {
    readonly clock: Clock;
    readonly env: Readonly<Record<string, string>>;
    readonly signal: AbortSignal;
  },
): Promise<CeilingEvent> {
  const unknown = { memoryReadBytesPerSec: null, fileReadBytesPerSec: null };
  const event = { type: 'ceiling', utc: utcOf(how.clock), when } as const;
  if (probe === null) return { ...event, ...unknown, raw: 'there is no probe for this engine' };
  const args = [
    '--json',
    ...(probe.file === null ? [] : ['--file', probe.file]),
    ...(probe.device === null ? [] : ['--device', probe.device]),
  ];
  const result = await execa(probe.program, args, {
    reject: false,
    timeout: TIMEOUT_MS,
    env: how.env,
    stdin: 'ignore',
    cancelSignal: how.signal,
  });
  how.signal.throwIfAborted();
  try {
    const raw: unknown = JSON.parse(result.stdout);
    const { memory, file, device } = probeReport.parse(raw);
    return {
      ...event,
      memoryReadBytesPerSec: memory.best_bytes_per_s,
      // Read through the page cache it is memory that was measured, not the disk.
      fileReadBytesPerSec: file?.direct === true ? file.best_bytes_per_s : null,
      ...(device === undefined
        ? {}
        : {
            deviceCopyBytesPerSec: device.copy_bytes_per_s,
            toDeviceBytesPerSec: device.from_host_bytes_per_s,
          }),
      raw,
    };
  } catch {
    const why =
      result.exitCode === 0 ? 'it printed no report' : (result.stderr.trim().split('\n').at(-1) ?? '');
    return { ...event, ...unknown, raw: `the probe failed: ${why}` };
  }
}
