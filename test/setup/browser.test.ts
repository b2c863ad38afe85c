import { expect, test } from 'vitest';
import { ensureBrowser } from '../../bin/setup/browser.js';

async function told(programs: readonly string[]): Promise<string[]> {
  const lines: string[] = [];
  const machine = {
    isRoot: true,
    run: ([name = '']: readonly string[]) => ({ code: programs.includes(name) ? 0 : 127, stdout: '' }),
  };
  // No apt-get on this PATH: nothing can be installed.
  await ensureBrowser(machine, { env: { PATH: '' }, logFolder: '/nowhere', say: (line) => lines.push(line) });
  return lines;
}

test('a browser that is there needs no word; one that cannot be had is said, and stops nothing', async () => {
  expect(await told(['chromium'])).toEqual([]);
  expect(await told([])).toMatchInlineSnapshot(`
    [
      "NO BROWSER: the test that looks at the figures of a report will be skipped; it needs chromium-headless-shell",
    ]
  `);
});
