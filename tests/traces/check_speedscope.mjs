// Opens a sample trace in speedscope in headless Chromium, compares the times that it lists for
// each row, and takes a screenshot: node check_speedscope.mjs SAMPLES CHROMIUM

import { deepStrictEqual } from "node:assert";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const [samples, executablePath] = process.argv.slice(2);
const SPEEDSCOPE = fileURLToPath(new URL("node_modules/speedscope/dist/release/", import.meta.url));
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };
const HOSTILE = 'a"},\n</script>\u001b[31m\u202egröße';

// Each row with its slices by time: total and self, in µs.
const ROWS = {
  "stream 7": { matmul: [20, 20], sgd: [5, 5], "Memset (Device)": [2, 2] },
  "stream 13": { "Memcpy HtoD": [18, 18], "Memcpy DtoH": [2, 2] },
  "stream 7 · spans": { load: [17, 17] },
  "stream 7 · spans 2": { train: [45, 14.5], forward: [30.5, 30.5] },
  main: {
    train: [99, 21], forward: [48, 39.5], [HOSTILE]: [30, 30],
    "cuLaunchKernel 11": [4, 4], "cuLaunchKernel 12": [3, 3], "cudaMemsetAsync 13": [1.5, 1.5],
  },
  loader: { load: [35, 32], "cuMemcpyHtoDAsync_v2 14": [3, 3] },
  "main (4000) · overlapping 2": { forward: [15, 15] },
};

function check(promise, found, expected) {
  try {
    deepStrictEqual(found, expected);
    console.log(`ok speedscope: ${promise}`);
  } catch (error) {
    console.log(`FAILED speedscope: ${promise}: ${error.message}`);
    process.exitCode = 1;
  }
}

// Serves speedscope, and the samples below /samples/.
async function serve() {
  const server = createServer(async (request, response) => {
    const path = new URL(request.url, "http://localhost").pathname;
    const sample = path.match(/^\/samples\/([a-z0-9.]+)$/)?.[1];
    try {
      const body = await readFile(sample ? join(samples, sample) : join(SPEEDSCOPE, path));
      response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "application/json" });
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  return server;
}

// What the table of a row lists. speedscope adds the arguments to a name; of these only the
// correlation id of a call is kept, which is written above 16 bits, for HTA.
async function slices(page) {
  const rows = await page.locator("tr:visible:has(td)").evaluateAll((rows) =>
    rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
  return Object.fromEntries(rows.map(([total, self, text]) => {
    const [, name, fields] = text.match(/^(.*?)(?: (\{.*\}))?$/s);
    const call = /^cu/.test(name) ? ` ${JSON.parse(fields).correlation - 32768}` : "";
    return [name + call, [total, self].map(Number.parseFloat)];
  }));
}

const server = await serve();
const origin = `http://127.0.0.1:${server.address().port}`;
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
try {
  const page = await browser.newPage({ viewport: { width: 1200, height: 500 } });
  const errors = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (line) => line.type() === "error" && errors.push(line.text()));
  page.on("dialog", (dialog) => errors.push(dialog.message()) && dialog.dismiss());
  const sample = encodeURIComponent(`${origin}/samples/rank0.json`);
  await page.goto(`${origin}/index.html#profileURL=${sample}`);
  await page.getByText("(1/7)").waitFor();
  const found = {};
  for (let number = 1; number <= 7; number += 1) {
    const title = page.getByText(`(${number}/7)`);
    await title.waitFor();
    const heading = await title.locator("..").textContent();
    const row = heading.match(/, (.*) \(tid \d+\)/)?.[1] ?? heading;
    await page.keyboard.press("3");
    await page.locator("tr:visible:has(td)").first().waitFor();
    found[row] = await slices(page);
    await page.keyboard.press("1");
    if (row === "main") await page.screenshot({ path: join(samples, "speedscope.png") });
    await page.keyboard.press("n");
  }
  check("every row lists its slices with their times", found, ROWS);
  check("no error on the page", errors, []);
} finally {
  await browser.close();
  server.close();
}
