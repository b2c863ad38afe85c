// A Rota of its own process for tests that kill it: runs what the plan in a folder still misses. argv: JSON of its options.

import path from 'node:path';
import { readPlan } from '../../../src/results/read.ts';
import { runFolder } from '../../../src/results/run-folder.ts';
import { encodePrompts } from '../../../src/run/prepare.ts';
import { runSession } from '../../../src/run/session.ts';
import { loadDescriptor } from '../../../src/schema/load.ts';

const { folder, base, resumed } = JSON.parse(process.argv[2] ?? '{}');
const run = runFolder(folder);
const letters = { encode: (text: string) => [...text].map((letter) => letter.charCodeAt(0)), bosId: 1 };

const outcome = await runSession({
  folder: run,
  resumed,
  rota: '0.1.0',
  command: 'session-main',
  descriptorOf: (engine) => loadDescriptor(path.join(base, 'engines'), engine),
  promptIds: await encodePrompts(readPlan(run), async () => letters),
  probe: null,
  onProgress: (progress) => {
    process.stdout.write(`${progress.phase} ${progress.arm} ${progress.runsDone}\n`);
  },
  onNotice: () => {},
  shareMachine: false,
  lockFolder: base,
  requestTimeoutMs: () => 60_000,
});
process.exit(outcome.exitCode);
