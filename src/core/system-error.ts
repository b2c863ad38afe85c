// What the operating system said no to, in a line for a person. Knows error codes, no file and no command.

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EEXIST: 'something else has that name',
  EDQUOT: 'the quota is used up',
  EIO: 'the disk reports an error',
  EISDIR: 'it is a folder',
  ELOOP: 'too many links',
  EMFILE: 'too many open files',
  ENAMETOOLONG: 'the name is too long',
  ENFILE: 'too many open files',
  ENOENT: 'no such file or folder',
  ENOSPC: 'no space is left',
  ENOTDIR: 'a part of the path is no folder',
  EPERM: 'not permitted',
  EROFS: 'the file system is read-only',
};

const VERBS: Readonly<Record<string, string>> = {
  access: 'reach',
  fdatasync: 'write',
  mkdir: 'make',
  mkdtemp: 'make a folder',
  rmdir: 'remove',
  scandir: 'list',
  stat: 'look at',
  statfs: 'look at',
  unlink: 'remove',
};

/** Null: it is no such error, or one that only a mistake of Rota's can cause. */
export function systemTrouble(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return null;
  const reason = REASONS[String(error.code)];
  if (reason === undefined) return null;
  const syscall = String(error.syscall);
  const verb = VERBS[syscall] ?? syscall;
  return 'path' in error ? `cannot ${verb} ${String(error.path)}: ${reason}` : `cannot ${verb}: ${reason}`;
}
