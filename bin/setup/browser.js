// A headless browser, for the test that looks whether the figures of a report drew. Owns how it is got; without one that test is
// skipped by name, so its absence stops nothing, and is said.
import { join } from 'node:path';
import { runLogged } from './command.js';
import { aptGet } from './packages.js';

const PACKAGE = 'chromium-headless-shell';
/** Any of them draws. */
export const PROGRAMS = [PACKAGE, 'chromium', 'chromium-browser', 'google-chrome'];

/**
 * @param {import('./packages.js').Machine} machine
 * @param {{env: NodeJS.ProcessEnv, logFolder: string, say: (line: string) => void}} options
 */
export async function ensureBrowser(machine, { env, logFolder, say }) {
  const isThere = () => PROGRAMS.some((name) => machine.run([name, '--version']).code === 0);
  if (isThere()) return;
  const apt = aptGet(machine, env['PATH']);
  if (apt !== undefined) {
    say(`installing ${PACKAGE} with apt-get ...`);
    const install = [...apt, 'install', '-y', '--no-install-recommends', PACKAGE];
    const log = join(logFolder, 'setup-browser.log');
    const { code } = await runLogged(install, { cwd: logFolder, log });
    // Lists that were never fetched, or are old: once more with new ones.
    if (code !== 0) {
      await runLogged([...apt, 'update'], { cwd: logFolder, log: join(logFolder, 'setup-apt-update.log') });
      await runLogged(install, { cwd: logFolder, log });
    }
  }
  if (!isThere()) {
    say(`NO BROWSER: the test that looks at the figures of a report will be skipped; it needs ${PACKAGE}`);
  }
}
