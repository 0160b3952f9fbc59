// Pictures of pages at two widths and in both colour schemes, to be looked at.
//
//   node screenshots.js PAGES PICTURES [NAME]...

import { readdirSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { openBrowser } from './browser.js';

const [pages, pictures, ...names] = process.argv.slice(2);
const all = readdirSync(pages).map((file) => basename(file, '.html'));
const browser = await openBrowser();
for (const name of names.length > 0 ? names : all) {
  for (const width of [400, 2000]) {
    for (const colorScheme of ['light', 'dark']) {
      const page = await browser.newPage({ viewport: { width, height: 1000 }, colorScheme });
      await page.goto(`file://${resolve(join(pages, `${name}.html`))}`);
      const path = join(pictures, `${name}-${width}-${colorScheme}.png`);
      await page.screenshot({ path, fullPage: true });
      await page.close();
    }
  }
}
await browser.close();
