// Numbers as a reader sees them: SI units, as many digits as they deserve, `n/a` for what is not known. Knows no table.

import type { Known } from '../core/known.ts';
import type { Bandwidths } from '../core/roofline/ceiling.ts';

export const NOT_KNOWN = 'n/a';

/** Three to four significant digits, never in scientific notation and never with thousands separators. */
export function number(value: Known): string {
  if (value === null) return NOT_KNOWN;
  if (value === 0) return '0';
  const size = Math.abs(value);
  const decimals = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : size >= 0.01 ? 3 : 5;
  return value.toFixed(decimals);
}

export function count(value: Known): string {
  return value === null ? NOT_KNOWN : String(value);
}

/** 0.873 as `87.3 %`; a little is not nothing. */
export function share(value: Known): string {
  if (value === null) return NOT_KNOWN;
  const percent = 100 * value;
  if (percent === 0) return '0 %';
  if (percent > 0 && percent < 0.05) return '<0.1 %';
  return `${percent.toFixed(Math.abs(percent) >= 100 ? 0 : 1)} %`;
}

export function megabytes(bytes: Known): string {
  return bytes === null ? NOT_KNOWN : number(bytes / 1e6);
}

function gigabytesPerSecond(bytesPerSec: Known): string {
  return bytesPerSec === null ? NOT_KNOWN : `${number(bytesPerSec / 1e9)} GB/s`;
}

/** What was measured of a machine's channels, one of a device only where there is one. */
export function channelRates({
  memoryReadBytesPerSec,
  fileReadBytesPerSec,
  deviceCopyBytesPerSec,
  toDeviceBytesPerSec,
}: Bandwidths): string[] {
  return [
    `memory ${gigabytesPerSecond(memoryReadBytesPerSec)}`,
    `file ${gigabytesPerSecond(fileReadBytesPerSec)}`,
    ...(deviceCopyBytesPerSec === undefined
      ? []
      : [`device memory ${gigabytesPerSecond(deviceCopyBytesPerSec)} copied`]),
    ...(toDeviceBytesPerSec === undefined ? [] : [`to device ${gigabytesPerSecond(toDeviceBytesPerSec)}`]),
  ];
}

export function minutes(value: Known): string {
  if (value === null) return 'an unknown time';
  if (value < 1) return `about ${Math.max(1, Math.round(value * 60))} s`;
  return value < 90 ? `about ${Math.round(value)} min` : `about ${(value / 60).toFixed(1)} h`;
}

/** A difference of logarithms: 0.01 is about one per cent. */
export function signedNumber(value: number): string {
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(3)}`;
}
