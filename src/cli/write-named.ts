// A file that the user named on the command line.
import { writeFileSync } from 'node:fs';
import { UserError } from '../core/errors.ts';

/** Throws UserError with the file when it cannot be written. */
export function writeNamed(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw new UserError(`cannot be written: ${error instanceof Error ? error.message : error}`, {
      where: file,
    });
  }
}
