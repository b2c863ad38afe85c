// Owns builds of an engine at another commit of this repository: its sources in a folder named by the commit, built there once.
// The working tree, its branches and its list of worktrees stay as they are.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { execa } from 'execa';
import { EngineError, UserError } from '../core/errors.ts';
import { endedBy } from '../machine/tool.ts';
import { type EngineDescriptor, parseDescriptor } from '../schema/descriptor.ts';
import type { Knobs } from '../schema/knobs.ts';
import { type BuildProgress, binaryPath, buildEngine, presetOf } from './build.ts';

export interface CommitBuild {
  readonly ref: string;
  readonly commit: string;
}

/** What the build of an engine and its descriptor are made of. */
const SOURCES = ['native', 'engines'];

/** `where` is where the ref was written. */
export async function resolveRef(root: string, ref: string, where: string): Promise<CommitBuild> {
  const asked = ['-C', root, 'rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`];
  const { exitCode, stdout, code } = await execa('git', asked, { reject: false, stdin: 'ignore' });
  if (exitCode === 0) return { ref, commit: stdout.trim() };
  const isHere = existsSync(path.join(root, '.git'));
  throw new UserError(
    isHere ? `there is no commit "${ref}" here` : 'a build of a commit needs a git checkout',
    {
      where,
      hint:
        code === 'ENOENT'
          ? 'install git, or name a program with binary'
          : 'name a branch, a tag or a commit of this repository, or a program with binary',
    },
  );
}

function sourceFolder(root: string, { commit }: CommitBuild): string {
  return path.join(root, 'native', 'build', 'commits', commit.slice(0, 16));
}

/** Where the program of a commit lies once it is built. */
export function commitBinary(
  descriptor: EngineDescriptor,
  root: string,
  build: CommitBuild,
  knobs: Knobs,
): string | null {
  return binaryPath(descriptor, sourceFolder(root, build), knobs);
}

/** Whole or not at all: an interrupted copy must not be built. */
async function exportSources(
  root: string,
  folder: string,
  commit: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (existsSync(folder)) return;
  mkdirSync(path.dirname(folder), { recursive: true });
  const aside = mkdtempSync(`${folder}.`);
  try {
    const archive = path.join(aside, 'sources.tar');
    const pack = ['-C', root, 'archive', '--format=tar', `--output=${archive}`, commit, ...SOURCES];
    await endedBy(signal, execa('git', pack));
    await endedBy(signal, execa('tar', ['-xf', archive, '-C', aside]));
    rmSync(archive);
    renameSync(aside, folder);
  } catch (error) {
    signal?.throwIfAborted();
    const why = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error);
    throw new EngineError(`the sources of ${commit} cannot be copied: ${why}`, { phase: 'build' });
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

/** As the commit describes its own build, where it does. */
function ownDescriptor(descriptor: EngineDescriptor, folder: string): EngineDescriptor {
  const file = path.join(folder, 'engines', `${descriptor.name}.yaml`);
  if (!existsSync(file)) return descriptor;
  try {
    const own = parseDescriptor(readFileSync(file, 'utf8'), file).descriptor;
    const isThere = own.build !== undefined && binaryPath(own, folder) === binaryPath(descriptor, folder);
    return isThere ? { ...descriptor, build: own.build } : descriptor;
  } catch {
    // Written in the words of another time: then today's build is tried.
    return descriptor;
  }
}

/** Builds it unless it is there. */
export async function ensureCommitBuild(
  descriptor: EngineDescriptor,
  root: string,
  build: CommitBuild,
  how: {
    /** Of the arm that runs it. */
    readonly knobs: Knobs;
    readonly onProgress: (progress: BuildProgress) => void;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<void> {
  const { knobs, ...progress } = how;
  const binary = commitBinary(descriptor, root, build, knobs);
  if (binary !== null && existsSync(binary)) return;
  const folder = sourceFolder(root, build);
  await exportSources(root, folder, build.commit, how.signal);
  const preset = presetOf(descriptor, knobs);
  await buildEngine({ descriptor: ownDescriptor(descriptor, folder), root: folder, preset, ...progress });
}
