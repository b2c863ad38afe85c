// Starts the fake engines of test/fixtures/engines for tests, in a folder of their own that is gone afterwards.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { GenerateRequest } from '../../../src/core/records/answer.ts';
import { type Guard, startGuard } from '../../../src/engines/guard.ts';
import { type EngineSession, openSession } from '../../../src/engines/session.ts';
import { systemClock } from '../../../src/machine/clock.ts';
import type { KnobSpecs } from '../../../src/schema/knobs.ts';

export const FAKE_ENGINE = fileURLToPath(new URL('../../fixtures/engines/fake-engine.mjs', import.meta.url));

export function temporaryFolder(): Disposable & { readonly path: string } {
  const folder = mkdtempSync(path.join(tmpdir(), 'rota-test-'));
  return { path: folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

export interface Fake extends AsyncDisposable {
  readonly session: EngineSession;
  readonly guard: Guard;
  readonly logFile: string;
}

export async function startFake(
  play: string,
  options: {
    readonly readyS?: number;
    readonly graceS?: number;
    readonly argv?: readonly string[];
    readonly knobs?: KnobSpecs;
    readonly maxLogBytes?: number;
  } = {},
): Promise<Fake> {
  const folder = temporaryFolder();
  const guard = await startGuard();
  const logFile = path.join(folder.path, 'engine.log');
  const session = await openSession({
    descriptor: {
      ready: { timeoutS: options.readyS ?? 10 },
      stop: { graceS: options.graceS ?? 0.3 },
      knobs: options.knobs ?? {},
    },
    argv: options.argv ?? [
      process.execPath,
      FAKE_ENGINE,
      '--play',
      play,
      '--model',
      path.join(folder.path, 'model'),
    ],
    env: {},
    logFile,
    guard,
    clock: systemClock,
    ...(options.maxLogBytes === undefined ? {} : { maxLogBytes: options.maxLogBytes }),
  });
  return {
    session,
    guard,
    logFile,
    async [Symbol.asyncDispose]() {
      await session.stop();
      await guard[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

export function request(maxNew = 8): GenerateRequest {
  return { prompt: [1, 2, 3], maxNew, temperature: 0, topP: 1, seed: 1, ignoreEos: true, stop: [] };
}

export const SOON = { timeoutMs: 5000 };
