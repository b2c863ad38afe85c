// Owns the certificates of noise: one file each beside the runs, dated; the newest that still holds is used. Judges no noise.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import type { Certificate } from '../core/records/certificate.ts';
import { stableJson } from '../core/stable-json.ts';
import { makeFolder, writeWhole } from './files.ts';

const number = z.number();
const shape = z.object({
  schemaVersion: z.literal(1),
  utc: z.string(),
  machineKey: z.string(),
  engine: z.string(),
  model: z.string(),
  run: z.string(),
  blocks: number,
  disturbed: number.exactOptional(),
  classes: z
    .array(
      z.object({
        class: z.string(),
        spread: number,
        spreadUpper: number,
        differenceP: number,
        driftPerBlock: number.nullable(),
        driftP: number.nullable(),
        positionEffect: number,
        positionP: number,
        blocksNeeded: z.array(z.object({ share: number, blocks: number.nullable() })).readonly(),
      }),
    )
    .readonly(),
  alarm: z.string().nullable(),
}) satisfies z.ZodType<Certificate>;

const folderOf = (results: string): string => path.join(results, 'certificates');

export const hasCertificates = (results: string): boolean => existsSync(folderOf(results));

/** Returns the file. */
export function writeCertificate(results: string, certificate: Certificate): string {
  makeFolder(folderOf(results));
  const file = path.join(folderOf(results), `${certificate.run}.json`);
  // All of the run is done by then: going on only makes the verdict and this again.
  writeWhole(file, stableJson(certificate), `rota resume ${certificate.run}`);
  return file;
}

/** A machine changes: drivers, neighbours, dust. */
const VALID_DAYS = 14;

export interface Subject {
  readonly machineKey: string;
  readonly engine: string;
  readonly model: string;
}

/** The newest of this machine, engine and model that is not older than two weeks and raised no alarm. */
export function newestCertificate(results: string, subject: Subject, nowMs: number): Certificate | null {
  if (!hasCertificates(results)) return null;
  const found = readdirSync(folderOf(results))
    .filter((name) => name.endsWith('.json'))
    .flatMap((name) => readCertificate(path.join(folderOf(results), name)) ?? [])
    .filter(({ utc, alarm }) => alarm === null && nowMs - Date.parse(utc) < VALID_DAYS * 86_400_000)
    .filter(
      ({ machineKey, engine, model }) =>
        machineKey === subject.machineKey && engine === subject.engine && model === subject.model,
    )
    .sort((a, b) => (a.utc < b.utc ? -1 : 1));
  return found.at(-1) ?? null;
}

/** Null for what cannot be read: a plan then says that its spread is assumed. */
function readCertificate(file: string): Certificate | null {
  try {
    return shape.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data ?? null;
  } catch {
    return null;
  }
}
