// What every command gets: the places it works in and the streams it prints on. Owns no command.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pc from 'picocolors';
import { findProjectRoot } from '../engines/project-root.ts';

type Colors = ReturnType<typeof pc.createColors>;

export interface Context {
  readonly version: string;
  readonly root: string;
  /** Set by --models, --engines and --results before a command runs. */
  models: string;
  engines: string;
  results: string;
  /** Results go here and nothing else. */
  readonly print: (text: string) => void;
  /** Progress, warnings and errors. */
  readonly tell: (text: string) => void;
  /** Whether a person sees stdout, and stderr. */
  readonly isTerminal: { readonly stdout: boolean; readonly stderr: boolean };
  readonly columns: number;
  readonly colors: Colors;
  readonly cwd: string;
  /** Said in the report of a bug, so that the record can be found. */
  runFolder: string | null;
  /** Said when a command is interrupted: the name of the run that can be finished. */
  resumable: string | null;
}

export interface Streams {
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly env: NodeJS.ProcessEnv;
}

export function createContext({ stdout, stderr, env }: Streams): Context {
  const root = findProjectRoot();
  const manifest: { version: string } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return {
    version: manifest.version,
    root,
    engines: join(root, 'engines'),
    models: join(root, 'native', 'build', 'models'),
    results: join(root, 'results'),
    print: (text) => stdout.write(text),
    tell: (text) => stderr.write(text),
    isTerminal: { stdout: stdout.isTTY === true, stderr: stderr.isTTY === true },
    get columns() {
      // Some terminals say 0 when they do not know; a window may be resized while a run is shown.
      return stderr.columns || 80;
    },
    colors: pc.createColors(stdout.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb'),
    cwd: process.cwd(),
    runFolder: null,
    resumable: null,
  };
}
