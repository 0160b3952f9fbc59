// The page of a comparison in Chromium: PAGES is the folder that the example `pages` has written.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { openBrowser } from './browser.js';

const file = join(resolve(process.env.PAGES ?? 'PAGES is not set'), 'comparison.html');

let browser;
before(async () => { browser = await openBrowser(); });
after(async () => { await browser?.close(); });

// Opens the page, and fails if the console says that a policy refused something, or if it requests
// anything but itself.
async function withPage(options, use) {
  const page = await browser.newPage(options);
  const wrong = [];
  page.on('console', (message) => wrong.push(`console: ${message.text()}`));
  page.on('request', (request) => {
    if (request.url() !== `file://${file}`) wrong.push(`request: ${request.url()}`);
  });
  try {
    await page.goto(`file://${file}`);
    await use(page);
    assert.deepEqual(wrong, []);
  } finally {
    await page.close();
  }
}

const size = (width) => ({ viewport: { width, height: 900 } });
const rowsOf = (page) => page.getByRole('table', { name: 'Functions and kernels' });

test('the policy names the hashes of both styles', () => {
  const text = readFileSync(file, 'utf8');
  const named = [...text.matchAll(/'sha256-([^']*)'/g)].map(([, hash]) => hash);
  const styles = [...text.matchAll(/<style>([^]*?)<\/style>/g)].map(([, style]) =>
    createHash('sha256').update(style).digest('base64'));
  assert.equal(styles.length, 2);
  assert.deepEqual(named, styles, 'the second is OWN_STYLE_HASH in gpuprof-report/src/compare/html/mod.rs');
});

for (const width of [400, 1280, 2000]) {
  test(`at ${width} px the page fits, and its tables have headers`, () =>
    withPage(size(width), async (page) => {
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${wide} px wide`);
      const headers = await rowsOf(page).getByRole('columnheader').allTextContents();
      assert.deepEqual(headers,
        ['Function / kernel', 'Verdict', 'Old', 'New', 'Change', '95 % interval', 'p']);
      const slower = rowsOf(page).getByRole('row').filter({ hasText: 'SLOWER' }).first();
      assert.equal(await slower.getByRole('rowheader').count(), 1);
      assert.equal(await slower.getByRole('cell').count(), 6);
      assert.ok(await slower.locator('svg.interval').isVisible());
      const facts = page.getByRole('table', { name: 'Runs' });
      assert.equal(await facts.getByRole('rowheader', { name: 'device' }).count(), 1);
    }));
}

test('a verdict has a colour of its own in both schemes', async () => {
  for (const colorScheme of ['light', 'dark']) {
    await withPage({ ...size(1280), colorScheme }, async (page) => {
      const color = (verdict) => rowsOf(page).locator(`.${verdict} .verdict`).first()
        .evaluate((cell) => getComputedStyle(cell).color);
      assert.equal(await color('slower'),
        colorScheme === 'light' ? 'rgb(179, 38, 30)' : 'rgb(255, 143, 133)');
      assert.notEqual(await color('same'), await color('slower'));
    });
  }
});

test('markup in names is text', () => withPage(size(1280), async (page) => {
  const texts = await rowsOf(page).getByRole('rowheader').allTextContents();
  assert.ok(texts.some((text) => text.startsWith('</script></title>')), texts[0]);
  assert.equal(await page.locator('img, script').count(), 0);
}));
