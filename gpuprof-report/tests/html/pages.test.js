// What the page does in Chromium: PAGES is the folder that the example `pages` has written.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { openBrowser } from './browser.js';

const pages = resolve(process.env.PAGES ?? 'PAGES is not set');
const file = (name) => join(pages, `${name}.html`);

let browser;
before(async () => { browser = await openBrowser(); });
after(async () => { await browser?.close(); });

// Opens a page, and fails if it had a script error, a message of the console, which is where a
// browser says what a policy refused, or a request for anything but itself.
async function withPage(name, use, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options });
  const wrong = [];
  page.on('pageerror', (error) => wrong.push(`error: ${error.message}`));
  page.on('console', (message) => wrong.push(`console: ${message.text()}`));
  page.on('request', (request) => {
    if (request.url() !== `file://${file(name)}`) wrong.push(`request: ${request.url()}`);
  });
  try {
    await page.goto(`file://${file(name)}`);
    if (options.javaScriptEnabled !== false) await page.evaluate(drawn);
    await use(page);
    assert.deepEqual(wrong, []);
  } finally {
    await page.close();
  }
}

// Ends when the browser has drawn: pictures wait for their size, which they learn after the first
// frame.
const drawn = () => new Promise((ready) => {
  requestAnimationFrame(() => requestAnimationFrame(ready));
});

const names = (page) => page.locator('#table tbody .name').allTextContents();
const cells = async (page, row) => (await page.locator('#table tbody tr').nth(row)
  .locator('th .name, td').allTextContents()).map((text) => text.trim());
const tab = (page, name) => page.getByRole('tab', { name });
const sorted = (page, heading) => page.locator('#table th', { hasText: heading })
  .getAttribute('aria-sort');

test('the policy names the hashes of the page’s own style and script', () => {
  const text = readFileSync(file('04_train_digits'), 'utf8');
  const hash = (pattern) => {
    const [, content] = pattern.exec(text);
    return createHash('sha256').update(content).digest('base64');
  };
  const [, style] = /style-src 'sha256-([^']*)'/.exec(text);
  const [, script] = /script-src 'sha256-([^']*)'/.exec(text);
  const is = {
    STYLE_HASH: hash(/<style>([^]*?)<\/style>/),
    SCRIPT_HASH: hash(/<script>([^]*?)<\/script>/),
  };
  assert.deepEqual({ STYLE_HASH: style, SCRIPT_HASH: script }, is,
    'put these into gpuprof-report/src/html/mod.rs');
});

test('the first screen says how busy the GPU was and what to do first', () =>
  withPage('04_train_digits', async (page) => {
    const first = await page.locator('.first').innerText();
    for (const text of ['GPU busy 27.0 ms (11.3 %)', '16.7 ms', 'idle: launch under way', '46.4 %',
      '120 ms saved at most', 'GPU 83 % idle: 19 launches/call, median kernel 1.18 µs']) {
      assert.ok(first.includes(text), `${text} in ${first}`);
    }
    assert.ok(!first.includes('simulated'));
    assert.ok(await page.locator('#simulated').isHidden());
    const busy = await page.locator('.stack').getAttribute('aria-label');
    assert.ok(busy.startsWith('GPU 0: kernels 16.7 ms (7.0 %), '), busy);
    const table = await page.locator('#tables').boundingBox();
    assert.ok(table.y < 900, 'the tables begin on the first screen');
    const findings = page.locator('.finding:visible');
    assert.equal(await findings.count(), 3);
    await page.getByRole('button', { name: 'Show 3 more' }).click();
    assert.equal(await findings.count(), 6);
  }));

test('the call tree has the rows and figures of the text report', () =>
  withPage('04_train_digits', async (page) => {
    assert.deepEqual(await page.locator('#table thead th').allTextContents(), [
      'Function / kernel', 'Busy(%)', 'Busy(ms)', 'Idle(%)', 'Calls', 'Avg(ms)', 'CPU(ms)',
      'Peak(%)', 'GB/s', 'k items/s', 'CPU self(ms)', 'Span(ms)']);
    assert.deepEqual(await cells(page, 0), ['train', '99.5', '26.8', '82.5', '15', '1.79',
      '154', '–', '–', '140', '9.91', '154']);
    assert.deepEqual(await cells(page, 1), ['[CUDA memcpy DtoH]', '3.5', '0.946', '–', '660',
      '0.00143', '–', '–', '–', '–', '–', '–']);
    assert.deepEqual((await cells(page, 2)).slice(0, 4), ['step', '96.0', '25.9', '~83.2']);
    assert.equal((await cells(page, 7))[7], '<0.1 mem');
    assert.deepEqual((await names(page)).slice(2, 7),
      ['step', 'backward', 'gpu::Gpu::product', 'matmul_tiled', '[CUDA memset]']);
  }));

test('a click on a heading sorts, and a second one turns the order', () =>
  withPage('04_train_digits', async (page) => {
    await tab(page, 'Functions').click();
    const calls = page.locator('#table th', { hasText: 'Calls' }).getByRole('button');
    await calls.click();
    assert.equal(await sorted(page, 'Calls'), 'descending');
    const column = async () => {
      const texts = await page.locator('#table tbody tr td:nth-child(2)').allTextContents();
      return texts.map((text) => Number(text.replaceAll(',', '')));
    };
    const down = await column();
    assert.deepEqual(down, [...down].sort((a, b) => b - a));
    assert.equal(down[0], 3324);
    await calls.click();
    assert.equal(await sorted(page, 'Calls'), 'ascending');
    assert.deepEqual(await column(), [...down].sort((a, b) => a - b));
    await page.locator('#table th', { hasText: 'Function' }).getByRole('button').click();
    const byName = await names(page);
    assert.equal(await sorted(page, 'Calls'), null);
    assert.deepEqual(byName, [...byName].sort((a, b) => a.localeCompare(b, 'en')));
  }));

test('rows without a value come last in either order', () =>
  withPage('04_train_digits', async (page) => {
    await tab(page, 'Functions').click();
    const at = 1 + (await page.locator('#table thead th').allTextContents()).indexOf('GB/s');
    const heading = page.locator('#table th', { hasText: /^(GB|MB)\/s/ });
    assert.ok(at >= 0);
    for (let click = 0; click < 2; click += 1) {
      await heading.getByRole('button').click();
      const position = await heading.evaluate((th) => th.cellIndex + 1);
      const texts = await page.locator(`#table tbody td:nth-child(${position})`).allTextContents();
      const first = texts.indexOf('–');
      assert.ok(first > 0 && texts.slice(first).every((text) => text === '–'), texts.join(' '));
    }
  }));

test('the search keeps the rows that match, and in the tree those around them', () =>
  withPage('04_train_digits', async (page) => {
    await page.keyboard.press('/');
    await page.keyboard.type('RELU');
    await page.locator('#found', { hasText: '4 of 46 rows match' }).waitFor();
    assert.deepEqual(await names(page), ['train', 'step', 'backward', 'gpu::Gpu::relu_backward',
      'relu_backward', 'forward', 'gpu::Gpu::add_bias', 'bias_relu', 'classify', 'forward',
      'gpu::Gpu::add_bias', 'bias_relu']);
    assert.deepEqual(await page.locator('#table mark').allTextContents(), Array(4).fill('relu'));
    assert.ok(await page.locator('.frame.hit').count() >= 3);
    await tab(page, 'Functions').click();
    assert.deepEqual(await names(page), ['gpu::Gpu::relu_backward']);
    await page.locator('#search').fill('no such name');
    await page.locator('#found', { hasText: 'no row matches' }).waitFor();
    assert.deepEqual(await names(page), []);
    await page.locator('#search').fill('');
    await page.waitForFunction(() => document.querySelectorAll('#table tbody tr').length === 16);
  }));

test('a name opens its function, from there its callers, and Escape returns', () =>
  withPage('04_train_digits', async (page) => {
    const name = page.locator('#table .name', { hasText: 'transpose' }).first();
    await name.click();
    const dialog = page.getByRole('dialog', { name: 'gpu::Gpu::transpose' });
    await dialog.waitFor();
    const text = await dialog.innerText();
    for (const part of ['examples/digits/gpu.rs:', '8.84 ms saved at most', 'GPU span', '~26.0 ms',
      'cuLaunchKernel', '[CUDA memset]']) {
      assert.ok(text.includes(part), `${part} in ${text}`);
    }
    const figure = dialog.getByRole('img').first();
    assert.match(await figure.getAttribute('aria-label'), /^GPU span of a call: median 13\.6 µs, /);
    await dialog.getByRole('button', { name: 'backward' }).click();
    await page.getByRole('dialog', { name: 'backward' }).waitFor();
    await page.getByRole('button', { name: 'Back', exact: true }).click();
    await dialog.waitFor();
    await dialog.getByRole('button', { name: 'transpose', exact: true }).click();
    const kernel = await page.getByRole('dialog', { name: 'transpose' }).innerText();
    assert.ok(kernel.includes('Registers per thread') && kernel.includes('32×8'), kernel);
    await page.keyboard.press('Escape');
    assert.equal(await page.locator('dialog[open]').count(), 0);
    assert.ok(await name.evaluate((element) => element === document.activeElement));
  }));

test('the tree is walked, closed and opened by keyboard', () =>
  withPage('04_train_digits', async (page) => {
    const focused = () => page.evaluate(() => document.activeElement.textContent);
    const rows = page.locator('#table tbody tr');
    await page.locator('#table .name').first().focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    assert.equal(await focused(), 'step');
    assert.equal(await rows.nth(2).getAttribute('aria-level'), '2');
    assert.equal(await rows.nth(2).getAttribute('aria-expanded'), 'true');
    const all = await rows.count();
    await page.keyboard.press('ArrowLeft');
    assert.equal(await rows.nth(2).getAttribute('aria-expanded'), 'false');
    assert.ok(await rows.count() < all);
    assert.equal(await focused(), 'step');
    await page.keyboard.press('ArrowLeft');
    assert.equal(await focused(), 'train');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowRight');
    assert.equal(await rows.count(), all);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'step' }).waitFor();
  }));

test('tabs are chosen by arrow keys', () => withPage('04_train_digits', async (page) => {
  await tab(page, 'Call tree').focus();
  await page.keyboard.press('ArrowRight');
  assert.equal(await tab(page, 'Functions').getAttribute('aria-selected'), 'true');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  assert.equal(await tab(page, 'API calls').getAttribute('aria-selected'), 'true');
  assert.deepEqual((await names(page)).slice(0, 2), ['cuLaunchKernel', 'cuMemsetD8Async']);
}));

test('the flame graph zooms by mouse and keyboard, turns over, and shows CPU time', () =>
  withPage('04_train_digits', async (page) => {
    const frames = page.locator('.frame');
    const focused = () => page.evaluate(() => document.activeElement.getAttribute('aria-label'));
    const width = (name) => page.locator('.frame', { hasText: name }).first()
      .evaluate((element) => element.style.width);
    assert.equal(await frames.first().getAttribute('aria-label'),
      'all GPU time: 27.0 ms, all outermost calls added up');
    const backward = page.getByRole('treeitem', { name: /^backward:/ });
    assert.equal(await backward.getAttribute('aria-label'),
      'backward: 12.2 ms, 45.1 % of the GPU’s busy time');
    const all = await frames.count();
    await backward.click();
    assert.equal(await width('backward'), '100%');
    assert.ok(await frames.count() < all);
    await page.keyboard.press('ArrowDown');
    assert.equal(await focused(), 'gpu::Gpu::product: 4.64 ms, 17.2 % of the GPU’s busy time');
    await page.keyboard.press('ArrowDown');
    assert.equal(await focused(), 'kernel matmul_tiled: 2.70 ms, 10.0 % of the GPU’s busy time');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    assert.equal(await width('gpu::Gpu::product'), '100%');
    for (let level = 0; level < 5; level += 1) await page.keyboard.press('Escape');
    assert.equal(await frames.count(), all);
    await page.getByRole('button', { name: 'Flame', exact: true }).click();
    const top = (locator) => locator.evaluate((element) => element.getBoundingClientRect().top);
    assert.ok(await top(backward) < await top(frames.first()));
    await page.getByRole('button', { name: 'CPU time', exact: true }).click();
    assert.equal(await backward.getAttribute('aria-label'),
      'backward: 70.0 ms, 44.7 % of all CPU time');
    await backward.focus();
    await page.keyboard.press('o');
    await page.getByRole('dialog', { name: 'backward' }).waitFor();
  }));

test('histograms have their figures as text', () => withPage('04_train_digits', async (page) => {
  const strips = page.locator('#distribution').getByRole('img');
  assert.equal(await strips.count(), 12);
  assert.equal(await strips.first().getAttribute('aria-label'), 'step: median 225 µs, '
    + '95th percentile 258 µs, 99th percentile 336 µs, from 197 µs to 506 µs');
  await page.locator('#distribution').getByRole('button', { name: 'Show more' }).click();
  assert.equal(await strips.count(), 15);
}));

test('the slowest steps are named, in the picture and as a table', () =>
  withPage('steps', async (page) => {
    const steps = page.locator('#steps');
    const text = await steps.locator('p').first().innerText();
    assert.equal(text, '1,300 steps, mean 33.3 ms, from 30.0 ms to 210 ms. The last 1,000 are drawn.');
    const labels = await steps.locator('.labels span').allTextContents();
    assert.ok(labels.includes('step 700: 180 ms') && labels.includes('step 1,290: 95.0 ms'), labels);
    // Step 17 is older than what is drawn.
    assert.ok(!labels.some((label) => label.startsWith('step 17:')), labels);
    const picture = await steps.getByRole('img').getAttribute('aria-label');
    assert.ok(picture.startsWith('Steps 301 to 1,300: mean of all 33.3 ms, step 700: 180 ms, '), picture);
    const places = await steps.locator('.dot').evaluateAll((dots) => dots.map((dot) => {
      const [mark, bars] = [dot, dot.parentElement].map((one) => one.getBoundingClientRect());
      return [(mark.left + mark.width / 2 - bars.left) / bars.width,
        (bars.bottom - mark.top - mark.height / 2) / bars.height];
    }));
    assert.equal(places.length, 7);
    const [[left, height]] = places;
    assert.ok(Math.abs(left - 0.3995) < 0.002 && Math.abs(height - 1) < 0.02, `${left} ${height}`);
    const cells = async (caption, row) => (await page.getByRole('table', { name: caption })
      .locator('tbody tr').nth(row).locator('th, td').allTextContents());
    assert.deepEqual(await cells('The slowest steps', 0), ['step 17', '210 ms', '630.5 %']);
    await steps.locator('summary').click();
    await page.getByRole('table', { name: 'Step times' }).waitFor();
    assert.deepEqual(await cells('Step times', 399), ['step 700', '180 ms', '540.5 %']);
    const bars = steps.locator('.step-bars');
    const { width } = await bars.boundingBox();
    await bars.hover({ position: { x: width * 0.3997, y: 60 } });
    assert.equal(await steps.locator('.frame-info').innerText(), 'step 700: 180 ms');
  }));

test('the lines of launches are a table of their own, with their kernels', () =>
  withPage('launch-lines', async (page) => {
    await tab(page, 'Launched from').click();
    const shown = await names(page);
    assert.equal(shown[0], 'digits::Net::forward at digits/src/model.rs:40 ← digits::train at src/main.rs:99 · adam_step');
    assert.equal(shown.length, 10);
    assert.ok(shown.includes('digits::warm_up at src/main.rs:12 · (unattributed)'));
    assert.equal(await sorted(page, 'Sampled time('), 'descending');
    assert.match(await page.locator('#remarks').textContent(),
      /annotate what launches outside any profiled function: digits::warm_up at src\/main.rs:12/);
  }));

test('a page without stacks has no such table', () => withPage('04_train_digits', async (page) => {
  assert.equal(await tab(page, 'Launched from').count(), 0);
}));

test('memory is a table of its own, largest allocations first', () =>
  withPage('memory', async (page) => {
    await tab(page, 'Memory').click();
    assert.deepEqual((await names(page)).slice(0, 2),
      ['<digits::Adam<f32> as digits::Optimizer>::update', 'digits::Net::forward']);
    assert.equal(await sorted(page, 'Allocated('), 'descending');
    const managed = (await names(page)).indexOf('digits::Net::forward [managed]');
    const net = await cells(page, managed);
    assert.ok(net.some((cell) => cell.startsWith('-0.008')), net.join());
    assert.match(await page.locator('#remarks').textContent(), /1 free of 8.00 MB/);
    assert.match(await page.locator('main').textContent(), /Memory: peak 205 MB/);
  }));

test('the source of a kernel stands beside its samples', () =>
  withPage('source', async (page) => {
    const section = page.locator('#source');
    const line = (number) => section.locator('tbody tr', {
      has: page.getByRole('rowheader', { name: String(number), exact: true }),
    });
    const cells = async (number) => (await line(number).locator('td').allTextContents());
    assert.deepEqual(await cells(41), ['60.0', '    variance[i] = 0.999 * variance[i] + 0.001 * g * g;',
      'for global or local memory DFMA, F2F.F64.F32']);
    assert.deepEqual(await cells(42), ['', '', '']);
    assert.deepEqual((await cells(47)).slice(0, 1), ['13.0']);
    assert.equal(await line(41).locator('.double').getAttribute('title'),
      'instructions of double precision');
    const numbers = await section.locator('tbody th[scope="row"]').allTextContents();
    assert.deepEqual(numbers, Array.from({ length: 13 }, (_, at) => String(36 + at)));
    assert.match(await section.innerText(), /Samples: for global or local memory 62.0 %, issues 15.0 %/);
    assert.ok(!(await section.innerText()).includes('Without text'));
    const summary = section.locator('summary');
    await summary.focus();
    await page.keyboard.press('Enter');
    assert.ok(await section.locator('table').isHidden());
    await page.keyboard.press('Enter');
    assert.ok(await section.locator('table').isVisible());
    await page.locator('#table .name', { hasText: 'adam_step' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'adam_step' });
    await dialog.getByRole('region', { name: 'Source of adam_step' }).waitFor();
  }));

test('without a readable file the lines have their numbers', () =>
  withPage('stalls', async (page) => {
    const section = page.locator('#source');
    assert.deepEqual(await section.locator('thead th').allTextContents(),
      ['Line', 'Samples(%)', 'Most often']);
    assert.deepEqual(await section.locator('tbody th').allTextContents(),
      ['adam.cu', '39', '41', '47']);
    assert.match(await section.innerText(), /Without text, because .*: adam.cu\./);
  }));

test('a page without lines of kernels has no such section', () =>
  withPage('04_train_digits', async (page) => {
    assert.ok(await page.locator('#source').isHidden());
  }));

test('measured columns stand beside the stated ones, and divided samples are marked', () =>
  withPage('counters', async (page) => {
    const heads = await page.locator('#table th').allTextContents();
    assert.ok(heads.some((head) => head.startsWith('DRAM(')), heads.join());
    const shown = await names(page);
    const of = async (name) => (await cells(page, shown.indexOf(name))).join(' ');
    assert.match(await of('<digits::Adam<f32> as digits::Optimizer>::update'), /4,000/);
    assert.match(await of('digits::Net::forward'), /≈400/);
    assert.match(await page.locator('#remarks').textContent(), /12,345 samples of 100 µs/);
  }));

test('a bar per kernel shows the nearest peak, and text the next ones', () =>
  withPage('limits', async (page) => {
    const limits = page.locator('#peaks');
    const shown = await limits.getByRole('listitem').evaluateAll((rows) => rows.map((row) =>
      [...row.querySelectorAll('.name, .number, .limit')].map((part) => part.textContent)));
    assert.deepEqual(shown, [
      ['cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nt_align1>', '150 ms',
        'memory 83.3 % L2 31.0 %, L1/shared 20.4 %'],
      ['adam_step', '97.9 ms', 'XU 93.8 % L1/shared 72.2 %, issue 46.8 %'],
      ['add_bias<float>', '54.7 ms', 'latency L2 42.2 %, memory 10.0 %'],
      ['softmax', '30.2 ms', '≈issue 84.9 % L1/shared 72.3 %, memory 23.7 %'],
      ['warm_up', '36.0 µs', 'XU 93.8 % L1/shared 72.2 %, issue 46.8 %']]);
    const bar = limits.getByRole('img', { name: /^adam_step: / });
    assert.equal(await bar.getAttribute('aria-label'), 'adam_step: XU 93.8 %, L1/shared 72.2 %, '
      + 'issue 46.8 %, ALU 28.8 %, FP64 11.7 %, L2 4.0 %, memory 2.8 %, tensor 0.0 % of the peak');
    const drawn = await bar.evaluate((element) => [...element.children].map(({ title, style }) =>
      [title, style.left, style.width]));
    assert.deepEqual(drawn, [['', '60%', '0%'], ['XU 93.8 %', '0%', '93.8%'],
      ['L1/shared 72.2 %', '72.23%', '0%'], ['issue 46.8 %', '46.83%', '0%'],
      ['ALU 28.8 %', '28.8%', '0%'], ['FP64 11.7 %', '11.72%', '0%'], ['L2 4.0 %', '4.02%', '0%'],
      ['memory 2.8 %', '2.8%', '0%']]);
    assert.ok((await limits.locator('.mark').getAttribute('title')).startsWith('other functions'));
    assert.equal(await limits.locator('.part.kernels').count(), 4);
    assert.equal(await limits.locator('.part.waits').count(), 1);
  }));

test('a kernel and a function open with a bar for each unit', () =>
  withPage('limits', async (page) => {
    const units = async (title) => {
      const list = page.getByRole('dialog', { name: title }).locator('.peaks');
      const rows = await list.locator('li').allTextContents();
      return [await list.locator('figcaption').textContent(), rows.length, ...rows.slice(0, 2),
        await list.locator('.bound').allTextContents()];
    };
    await page.locator('#peaks .name', { hasText: 'adam_step' }).click();
    assert.deepEqual(await units('adam_step'),
      ['Shares of the peaks', 8, 'XU93.8 %', 'L1/shared72.2 %', ['XU93.8 %']]);
    await page.keyboard.press('Escape');
    await page.locator('#peaks .name', { hasText: 'add_bias' }).click();
    assert.deepEqual(await units('add_bias<float>'),
      ['Shares of the peaks', 8, 'L242.2 %', 'memory10.0 %', []]);
    assert.match(await page.getByRole('dialog').textContent(), /No peak is near/);
    await page.keyboard.press('Escape');
    await page.locator('#table .name', { hasText: 'Optimizer' }).click();
    assert.deepEqual(await units('<digits::Adam<f32> as digits::Optimizer>::update'),
      ['Shares of the peaks while its kernels ran', 8, 'XU93.8 %', 'L1/shared72.2 %', ['XU93.8 %']]);
  }));

test('of many sampled kernels the slowest are drawn first', () =>
  withPage('many-limits', async (page) => {
    const rows = page.locator('#peaks').getByRole('listitem');
    assert.equal(await rows.count(), 12);
    assert.match(await page.locator('#peaks .more').textContent(), /^12 of 40 sampled kernels, /);
    await page.locator('#peaks').getByRole('button', { name: 'Show more' }).click();
    assert.equal(await rows.count(), 40);
  }));

test('a page without counters has no such columns', () => withPage('04_train_digits', async (page) => {
  assert.doesNotMatch(await page.locator('#table').textContent(), /DRAM/);
  assert.ok(await page.locator('#peaks').isHidden());
  await page.locator('#table .name', { hasText: 'matmul_tiled' }).first().click();
  assert.equal(await page.getByRole('dialog').locator('.peaks').count(), 0);
}));

test('a page without memory has no such table', () => withPage('04_train_digits', async (page) => {
  assert.equal(await tab(page, 'Memory').count(), 0);
}));

// 01_quickstart uploads twice, calls saxpy a hundred times and downloads once.
test('the page that a program writes has its functions', () =>
  withPage('program', async (page) => {
    const calls = await page.evaluate(() =>
      profile.functions.rows.map(([name, , , , calls]) => [name, calls]));
    assert.deepEqual(calls, [['download', 1], ['saxpy', 100], ['upload', 2]]);
  }));

test('without CUPTI the page shows spans and how to get more', () =>
  withPage('04_train_digits_without_cupti', async (page) => {
    assert.ok((await page.locator('#findings').innerText()).includes('GPUPROF_CUPTI=on'));
    assert.equal(await sorted(page, 'Span(ms)'), 'descending');
    assert.deepEqual((await names(page)).slice(0, 2), ['train', 'step']);
    assert.equal(await page.getByRole('treeitem', { name: /^step:/ }).getAttribute('aria-label'),
      'step: ~106 ms, 99.4 % of all GPU spans');
  }));

test('a program without annotated functions has its findings', () =>
  withPage('unannotated', async (page) => {
    assert.equal(await page.locator('.finding:visible').count(), 1);
    const findings = await page.locator('#findings').innerText();
    assert.ok(findings.includes('uses no tensor cores'), findings);
    assert.ok(!findings.includes('no annotated function'), findings);
    assert.equal(await page.locator('#tabs [aria-selected=true]').getAttribute('id'), 'tab-activities');
    assert.ok(!(await page.locator('body').innerText()).includes('unattributed'));
  }));

test('a page of nothing says so', () => withPage('empty', async (page) => {
  const findings = await page.locator('#findings').innerText();
  assert.ok(findings.includes('Nothing: no annotated function was called.'), findings);
}));

test('markup in names is text everywhere', () => withPage('hostile', async (page) => {
  for (const name of ['Functions', 'Kernels and copies', 'API calls', 'Call tree']) {
    await tab(page, name).click();
    assert.ok((await names(page)).some((text) => text.startsWith('</script></title>')), name);
    const opens = page.locator('#table button.name').first();
    if (await opens.count() === 0) continue;
    await opens.click();
    assert.ok((await page.locator('#details-title').innerText()).includes('<img src=x'));
    await page.keyboard.press('Escape');
  }
  await page.locator('#search').fill('<script>');
  await page.locator('#table mark').first().waitFor();
  await page.locator('.frame').nth(1).click();
  for (const summary of await page.locator('summary').all()) await summary.click();
  assert.equal(await page.locator('img').count(), 0);
  assert.equal(await page.locator('script').count(), 2);
  assert.equal(await page.evaluate(() => window.broken), undefined);
}));

test('a script that is put into the page does not run', () =>
  withPage('04_train_digits', async (page) => {
    await page.addInitScript(() => {
      window.refused = [];
      document.addEventListener('securitypolicyviolation', (event) =>
        window.refused.push(event.effectiveDirective));
    });
    page.removeAllListeners('console');
    await page.reload();
    await page.evaluate(() => {
      const script = document.createElement('script');
      script.textContent = 'window.broken = 1';
      document.body.append(script);
      document.body.append(Object.assign(document.createElement('img'), { src: 'data:,x' }));
    });
    await page.waitForFunction(() => window.refused.length === 2);
    assert.deepEqual(await page.evaluate(() => window.refused.sort()),
      ['img-src', 'script-src-elem']);
    assert.equal(await page.evaluate(() => window.broken), undefined);
  }));

test('a simulated device is named at the top', () => withPage('simulated', async (page) => {
  const note = page.getByRole('note');
  assert.equal(await note.innerText(), 'simulated device: GPU times are modelled, not measured; '
    + 'CPU times include the simulation');
  assert.ok((await note.boundingBox()).y < 120);
  assert.equal(await page.title(), 'train (simulated device) · gpuprof');
}));

test('doubtful numbers have their marks, and each is explained', () =>
  withPage('trouble', async (page) => {
    const marks = await page.locator('#table .mark').allTextContents();
    assert.deepEqual([...new Set(marks)].sort(), ['!', 'Σ≥', '≥']);
    for (const mark of await page.locator('#table .mark').all()) {
      assert.ok((await mark.getAttribute('title')).length > 20);
    }
    const remarks = await page.locator('#remarks').innerText();
    assert.ok(remarks.includes('CUDA errors in gpuprof\'s own calls'), remarks);
  }));

test('labels and graphs open', () => withPage('labels', async (page) => {
  await page.locator('#table .name', { hasText: 'forward[2]' }).click();
  const text = await page.getByRole('dialog').innerText();
  assert.ok(text.includes('Labels') && text.includes('[3]'), text);
}).then(() => withPage('graphs', (page) => page.locator('#table .name').first().click())));

test('a profile without a call says so', () => withPage('empty', async (page) => {
  const text = await page.locator('main').innerText();
  assert.ok(text.includes('No annotated function was called.'), text);
  assert.deepEqual(await page.locator('h2:visible').allTextContents(),
    ['How busy the GPU was', 'What to do first', 'Where the time went']);
}));

test('ten thousand functions draw few elements, and all can be reached', () =>
  withPage('large', async (page) => {
    assert.equal(await page.locator('#table tbody tr').count(), 150);
    assert.ok(await page.locator('*').count() < 8_000, 'elements');
    const places = await page.locator('.frame').evaluateAll((frames) => frames.map((frame) => {
      const { top, left, right } = frame.getBoundingClientRect();
      return { top, left, right };
    }).sort((a, b) => a.top - b.top || a.left - b.left));
    assert.ok(places.length > 1_000, `${places.length} frames`);
    places.forEach(({ top, left, right }, at) => {
      assert.ok(right - left > 0.45, `${right - left} px`);
      const next = places[at + 1];
      assert.ok(next?.top !== top || next.left > right - 0.1, 'no frame covers another');
    });
    await tab(page, 'Functions').click();
    await page.getByRole('button', { name: 'Show 600 more' }).click();
    assert.equal(await page.locator('#table tbody tr').count(), 750);
    await page.locator('#table th', { hasText: 'CPU(' }).getByRole('button').click();
    await page.locator('#search').fill('Layer9999::');
    await page.locator('#found', { hasText: '1 of 10,000 rows match' }).waitFor();
    await page.locator('#table .name').click();
    await page.getByRole('dialog', { name: 'model::block_1249::Layer9999::forward' }).waitFor();
  }));

test('a recursion of any depth can be walked down', () => withPage('deep', async (page) => {
  const note = 'Not drawn: frames deeper than 48 levels; zoom in.';
  assert.equal(await page.locator('#flame .note').first().innerText(), note);
  for (let zoom = 0; zoom < 110; zoom += 1) {
    const more = await page.evaluate(() => {
      document.querySelector('.frames').lastElementChild.click();
      return document.querySelector('#flame .note').textContent;
    });
    if (!more) break;
  }
  await page.getByRole('treeitem', { name: /^kernel gemm_tile_0:/ }).waitFor();
  assert.ok(await page.locator('.frame').count() < 100);
  // Opened by hand, the tree goes on where it was closed.
  const rows = page.locator('#table tbody tr');
  const before = await rows.count();
  await page.locator('#table tr[aria-expanded="false"] .name').focus();
  await page.keyboard.press('ArrowRight');
  assert.equal(await rows.count(), before + 1);
}));

test('the page is never wider than its window, and has no text too faint to read', async () => {
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [400, 2000]) {
      for (const name of ['04_train_digits', '03_streams', 'trouble', 'hostile', 'large',
        'steps', 'limits', 'source']) {
        await withPage(name, async (page) => {
          const wide = await page.evaluate(() => document.documentElement.scrollWidth);
          assert.ok(wide <= width, `${name} at ${width} px is ${wide} px wide`);
          const faint = await page.evaluate(faintTexts);
          assert.deepEqual(faint, [], `${name} in ${colorScheme}`);
        }, { viewport: { width, height: 900 }, colorScheme });
      }
    }
  }
});

// The texts whose contrast with their background is under 4.5, by WCAG's formula.
function faintTexts() {
  const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
  const luminance = (colour) => {
    const [r, g, b] = numbers(colour).map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const isClear = (colour) => numbers(colour)[3] === 0;
  const faint = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.checkVisibility()
      || element.closest('script, :disabled')) continue;
    let behind = element;
    while (behind && isClear(getComputedStyle(behind).backgroundColor)) behind = behind.parentElement;
    const [front, back] = [getComputedStyle(element).color,
      getComputedStyle(behind ?? document.body).backgroundColor].map(luminance);
    const contrast = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
    if (contrast < 4.5) faint.add(`${contrast.toFixed(2)}: ${element.className} ${element.tagName}`);
  }
  return [...faint];
}

test('every control has a name, and every image a label', async () => {
  for (const name of ['04_train_digits', 'trouble', 'steps', 'limits']) {
    await withPage(name, async (page) => {
      const unnamed = await page.evaluate(() => [...document.querySelectorAll(
        'button, input, [role="img"], [role="treeitem"], [role="region"]')]
        .filter((element) => !(element.textContent.trim() || element.getAttribute('aria-label')
          || element.labels?.length)).map((element) => element.outerHTML));
      assert.deepEqual(unnamed, []);
    });
  }
});

test('without scripts the page shows the report as text', () =>
  withPage('04_train_digits', async (page) => {
    const text = await page.locator('noscript pre').innerText();
    assert.ok(text.includes('Function / kernel') && text.includes('matmul_tiled'), text);
    assert.ok(await page.locator('main').isHidden());
  }, { javaScriptEnabled: false }));
