// A headless Chromium over its debugging pipe: opens one page, asks it questions, takes pictures. Nothing is installed here.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { PROGRAMS } from '../../../bin/setup/browser.js';

/** Null when this machine has none: a test that needs one must say so. */
export function findBrowser(): string | null {
  return PROGRAMS.find((name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0) ?? null;
}

export interface View {
  readonly width: number;
  readonly dark: boolean;
}

export interface Page extends AsyncDisposable {
  look(view: View): Promise<void>;
  evaluate(expression: string): Promise<unknown>;
  picture(): Promise<Buffer>;
}

type Answer = { readonly id?: number; readonly result?: Record<string, unknown>; readonly error?: unknown };

/** The pipe: JSON messages that end with a zero byte, in on descriptor 3 and out on 4. */
function conversation(child: ChildProcess) {
  const [, , , input, output] = child.stdio as unknown as [null, null, null, Writable, Readable];
  const waiting = new Map<
    number,
    { resolve: (value: Record<string, unknown>) => void; reject: (error: Error) => void }
  >();
  let text = '';
  let last = 0;
  output.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8');
    const messages = text.split('\0');
    text = messages.pop() ?? '';
    for (const message of messages) {
      const { id, result, error } = JSON.parse(message) as Answer;
      const asked = waiting.get(id ?? -1);
      if (error === undefined) asked?.resolve(result ?? {});
      else asked?.reject(new Error(JSON.stringify(error)));
    }
  });
  child.once('close', () => {
    for (const asked of waiting.values()) asked.reject(new Error('the browser ended'));
  });
  return (method: string, params: object = {}, sessionId?: string) =>
    new Promise<Record<string, unknown>>((resolve, reject) => {
      last += 1;
      waiting.set(last, { resolve, reject });
      input.write(
        `${JSON.stringify({ id: last, method, params, ...(sessionId === undefined ? {} : { sessionId }) })}\0`,
      );
    });
}

/** Without a network: the page must not need one. */
export async function openPage(program: string, file: string): Promise<Page> {
  const profile = mkdtempSync(join(tmpdir(), 'rota-browser-'));
  const flags = [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--remote-debugging-pipe',
    `--user-data-dir=${profile}`,
  ];
  const child = spawn(program, [...flags, '--host-resolver-rules=MAP * ~NOTFOUND'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const send = conversation(child);
  const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
  const ask = (method: string, params: object = {}) => send(method, params, String(sessionId));
  await ask('Page.enable');
  await ask('Page.navigate', { url: `file://${file}` });
  const evaluate = async (expression: string): Promise<unknown> => {
    const { result } = await ask('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true });
    return (result as { value?: unknown }).value;
  };
  while ((await evaluate('location.protocol + document.readyState')) !== 'file:complete')
    await new Promise((resolve) => setTimeout(resolve, 20));
  return {
    evaluate,
    async look({ width, dark }) {
      await ask('Emulation.setDeviceMetricsOverride', {
        width,
        height: 900,
        deviceScaleFactor: 1,
        mobile: width < 600,
      });
      const features = [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }];
      await ask('Emulation.setEmulatedMedia', { features });
    },
    async picture() {
      const { data } = await ask('Page.captureScreenshot', { captureBeyondViewport: true, format: 'png' });
      return Buffer.from(String(data), 'base64');
    },
    async [Symbol.asyncDispose]() {
      // A polite end waits for helpers that may never answer.
      child.kill('SIGKILL');
      await ended;
      rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
    },
  };
}
