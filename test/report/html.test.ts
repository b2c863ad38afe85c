import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { htmlReport } from '../../src/report/html/page.ts';
import { makeRecord, type RecordOptions, verdictOf } from '../core/verdict/record.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';
import { findBrowser, openPage } from './helpers/browser.ts';

const FIGURES = ['effects', 'timeline', 'split', 'causes', 'bytes', 'lookups'];

const evening: RecordOptions = {
  arms: ['base', 'ram', 't1', 'bias'],
  classes: ['prose', 'code'],
  machine: { key: 'abc', cpu: { model: '<AMD> & co', cores: 2 } },
  arm: (name) => (name === 'bias' ? { lossyKnobs: ['route-bias'] } : {}),
  ceilings: [200e6, 1.9e9],
  answer: ({ arm, class: name, block }) => ({
    rate:
      (name === 'code' ? 240 : 200) *
      ({ base: 1, ram: 2.31, t1: 0.62, bias: 1.3 }[arm] ?? 1) *
      (1 + 0.01 * ((block * arm.length) % 3)),
    foreignCpuShare: block === 2 ? 0.3 : 0.02,
    ...(arm === 'bias' ? { ids: new Array<number>(64).fill(7) } : {}),
  }),
};

function page(): string {
  const record = makeRecord(evening);
  return htmlReport(record.plan, verdictOf(record), record.events);
}

test('one page that fetches nothing, says the verdict first, and takes no name for markup', () => {
  const html = page();
  expect(html).not.toMatch(/<script|<link|<img|src=|href=|url\(|@import|https?:/);
  expect(html.indexOf('id="verdict"')).toBeLessThan(html.indexOf('id="effects"'));
  for (const id of [...FIGURES, 'energy', 'identity', 'commands', 'numbers'])
    expect(html).toContain(`id="${id}"`);
  expect(html).toContain('&lt;AMD&gt; &amp; co');
  expect(html).toContain('rota-strata --model m.gguf --arm bias');
  expect(html).toContain('a trade, not a win');
  expect(html).not.toMatch(/\bNaN\b|Infinity|undefined/);
});

/** Where the set-up could not get a browser, this is skipped by name, and the line says so. */
const browser = findBrowser();
if (browser === null)
  process.stderr.write(
    'SKIPPED: no headless browser here, so nobody saw whether the figures drew: apt-get install chromium-headless-shell\n',
  );

test.skipIf(browser === null)(
  'in a browser the figures draw, fit a phone and a desk, and are readable by day and by night',
  async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, 'report.html');
    writeFileSync(file, page());
    await using view = await openPage(browser ?? '', file);
    for (const width of [1200, 390]) {
      for (const dark of [false, true]) {
        await view.look({ width, dark });
        const seen = await view.evaluate(`({
        fits: document.documentElement.scrollWidth <= innerWidth,
        shapes: Object.fromEntries(${JSON.stringify(FIGURES)}.map((id) => [id,
          [...document.querySelectorAll('#' + id + ' rect')].filter((shape) => {
            const { width, height } = shape.getBoundingClientRect();
            return width > 0.5 && height > 2 && getComputedStyle(shape).fill !== 'none';
          }).length])),
        smallest: Math.min(...[...document.querySelectorAll('p,li,.row span,td')].map((e) => parseFloat(getComputedStyle(e).fontSize))),
        ground: getComputedStyle(document.body).backgroundColor,
      })`);
        expect(seen).toMatchObject({ fits: true, ground: dark ? 'rgb(13, 17, 23)' : 'rgb(255, 255, 255)' });
        const { shapes, smallest } = seen as { shapes: Record<string, number>; smallest: number };
        for (const id of FIGURES) expect([id, shapes[id]]).not.toEqual([id, 0]);
        expect(shapes['effects']).toBe(6);
        expect(shapes['timeline']).toBeGreaterThanOrEqual(32);
        expect(smallest).toBeGreaterThanOrEqual(12);
        const pictures = process.env['ROTA_PICTURES'];
        if (pictures === undefined) continue;
        mkdirSync(pictures, { recursive: true });
        writeFileSync(join(pictures, `${width}-${dark ? 'dark' : 'light'}.png`), await view.picture());
      }
    }
  },
);
