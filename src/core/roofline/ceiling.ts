// Bytes per token and the rate that bandwidth alone would allow. Knows channels and measured bandwidths, no engine.

import { type Known, knownSum, ratio } from '../known.ts';
import type { ChannelBytes } from '../records/answer.ts';

/** Best bandwidths measured on this machine; null where nothing measured it. */
export interface Bandwidths {
  readonly memoryReadBytesPerSec: number | null;
  readonly fileReadBytesPerSec: number | null;
  /** Absent, as the next: there is no device of its own, or nothing measured it. */
  readonly deviceCopyBytesPerSec?: number;
  readonly toDeviceBytesPerSec?: number;
}

/** Bytes by the memory that had to deliver them, per token; null where a part of them is unknown. */
export interface BytesPerToken {
  readonly host: number | null;
  readonly device: number | null;
  readonly file: number | null;
  /** Of the host's, those that were copied to the device. */
  readonly toDevice: number | null;
}

export type ChannelName = 'host memory' | 'file' | 'device memory' | 'to device';

export interface Ceiling {
  readonly tokPerSec: number;
  /** The channel that would be busy the longest. */
  readonly binds: ChannelName;
}

/** The host device keeps its "device slots" in RAM. */
export const isHostDevice = (device: string | null): boolean => device === 'host';

/**
 * Per decoded token, the first of a request left out, as in the rate. On the host device all bytes cross one memory bus, hits
 * included. With a device of its own, hits and dense weights are read there; what goes over PCIe, what the CPU computes and
 * what a file read left in RAM is read from host memory.
 */
export function bytesPerToken(
  bytes: ChannelBytes,
  decodedTokens: number,
  device: string | null,
): BytesPerToken {
  if (decodedTokens <= 0 || device === null) return { host: null, device: null, file: null, toDevice: null };
  const { hit, pcie, cpu, file, dense, engram } = bytes;
  const perToken = (parts: readonly Known[]): Known => ratio(knownSum(parts), decodedTokens);
  const isHost = isHostDevice(device);
  return {
    host: perToken(isHost ? [hit, pcie, cpu, file, dense, engram] : [pcie, cpu, file, engram]),
    device: isHost ? null : perToken([hit, dense]),
    file: perToken([file]),
    toDevice: isHost ? null : perToken([pcie]),
  };
}

/**
 * 1 / the longest channel time. Reads from a file that reach the CPU without a copy cost the memory bus nothing that can be
 * proven, so they are charged to the file alone: a ceiling must not be too low. For the same reason what is copied to a device is not
 * charged to that device's memory. Null when a channel that moved bytes has no measured bandwidth, and when several devices were used.
 */
export function ceilingOf(
  perToken: BytesPerToken,
  bandwidths: Bandwidths,
  device: string | null,
): Ceiling | null {
  const { host, device: own, file, toDevice } = perToken;
  if (device === null || device.includes(' + ') || host === null || file === null) return null;
  const channels: [ChannelName, number | null, number | null][] = [
    ['host memory', host - file, bandwidths.memoryReadBytesPerSec],
    ['file', file, bandwidths.fileReadBytesPerSec],
  ];
  if (!isHostDevice(device)) {
    channels.push(['device memory', own, bandwidths.deviceCopyBytesPerSec ?? null]);
    channels.push(['to device', toDevice, bandwidths.toDeviceBytesPerSec ?? null]);
  }
  let longest: { seconds: number; binds: ChannelName } | null = null;
  for (const [binds, bytes, bytesPerSec] of channels) {
    if (bytes === null) return null;
    if (bytes <= 0) continue;
    if (bytesPerSec === null || bytesPerSec <= 0) return null;
    const seconds = bytes / bytesPerSec;
    if (longest === null || seconds > longest.seconds) longest = { seconds, binds };
  }
  return longest === null ? null : { tokPerSec: 1 / longest.seconds, binds: longest.binds };
}
