// The tracked tree stays small enough to clone. Owns the limit.
import { spawnSync } from 'node:child_process';
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { filesResult } from './result.js';

// 34 MB of it are the bundled checkpoint, 5 are records. The tree without those, a compressed Node (21.2 MB) and Rota with the packages
// it runs with (0.7 MB) travel to machines without a network as one parcel of at most 64 MiB.
const MAX_BYTES = 43 * 1024 * 1024;

/**
 * Outside of a git checkout (an unpacked archive) there is no tracked tree, and this is waived, not passed.
 * @param {string} root
 * @param {number} [limit]
 * @returns {import('./result.js').CheckResult}
 */
export function treeSize(root, limit = MAX_BYTES) {
  const git = spawnSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 });
  if (git.status !== 0) return { passed: 0, failures: [], note: 'waived: not a git checkout' };
  const files = git.stdout.split('\0').filter((file) => file !== '');
  const bytes = files.reduce(
    (sum, file) => sum + (lstatSync(join(root, file), { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
  const over = bytes > limit ? [`the tracked tree is ${bytes} bytes; ${limit} at most`] : [];
  return filesResult(files.length, over, `files, ${(bytes / 1e6).toFixed(1)} MB`);
}
