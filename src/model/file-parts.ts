// One file's bytes, whether it lies on the disk whole or as raw parts FILE.part-00, FILE.part-01, … that were never joined. Owns the naming of parts; knows nothing of the contents.
import { closeSync, existsSync, fstatSync, openSync, readdirSync, readSync, type Stats } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { EngineError, UserError } from '../core/errors.ts';

const PART = /\.part-(\d{2,6})$/;

/** "FILE" of "FILE.part-07"; other paths unchanged. */
export function withoutPartSuffix(path: string): string {
  return path.replace(PART, '');
}

/** True when FILE is there, whole, or in parts, or as the part that it names. */
export function fileOrPartsExist(path: string): boolean {
  return existsSync(path) || numberedParts(withoutPartSuffix(path)).length > 0;
}

/** The files that hold FILE's bytes, in order: itself, or its parts. One that is missing between others is named. */
export function filesOf(path: string): readonly string[] {
  const whole = withoutPartSuffix(path);
  if (whole === path && existsSync(path)) return [path];
  const parts = numberedParts(whole);
  for (const [index, part] of parts.entries()) {
    if (part.number === index) continue;
    const missing = `${whole}.part-${String(index).padStart(part.digits.length, '0')}`;
    throw new EngineError(`${missing}: this part is missing, ${part.path} is there`, { phase: 'load' });
  }
  return parts.length === 0 ? [path] : parts.map((part) => part.path);
}

interface Part {
  readonly number: number;
  readonly digits: string;
  readonly path: string;
}

function numberedParts(whole: string): readonly Part[] {
  const folder = dirname(whole);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .flatMap((name) => {
      const digits = PART.exec(name)?.[1];
      if (digits === undefined || withoutPartSuffix(name) !== basename(whole)) return [];
      return [{ number: Number(digits), digits, path: join(folder, name) }];
    })
    .sort((a, b) => a.number - b.number);
}

interface Opened {
  readonly fd: number;
  readonly start: number;
  readonly size: number;
}

/** Positioned reads over a file or its parts. */
export class PartReader implements Disposable {
  readonly path: string;
  readonly size: number;
  private readonly opened: Opened[] = [];

  constructor(path: string) {
    this.path = withoutPartSuffix(path);
    let start = 0;
    for (const file of filesOf(path)) {
      const { fd, stat } = open(file);
      this.opened.push({ fd, start, size: stat.size });
      start += stat.size;
      if (stat.isFile()) continue;
      this[Symbol.dispose]();
      throw new EngineError(`${file}: is not a file`, { phase: 'load' });
    }
    this.size = start;
  }

  [Symbol.dispose](): void {
    for (const { fd } of this.opened.splice(0)) closeSync(fd);
  }

  /** Bytes read at `position`, fewer than asked for where a part ends; 0 behind the end. */
  read(out: Buffer, offset: number, bytes: number, position: number): number {
    const part = this.opened.findLast(({ start }) => start <= position);
    if (part === undefined) return 0;
    const within = position - part.start;
    return readSync(part.fd, out, offset, Math.min(bytes, Math.max(0, part.size - within)), within);
  }
}

function open(file: string): { readonly fd: number; readonly stat: Stats } {
  try {
    const fd = openSync(file, 'r');
    return { fd, stat: fstatSync(fd) };
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    const why = error instanceof Error ? error.message : String(error);
    throw new UserError(missing ? 'no such file' : `cannot be opened (${why})`, {
      where: file,
      hint: 'name a .gguf file that exists',
    });
  }
}
