// Imports a sample trace into the viewer of chrome://tracing, which the Perfetto UI has a copy of:
// node check_chrome.mjs SITE_PACKAGES SAMPLES CHROMIUM

import { deepStrictEqual } from "node:assert";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { chromium } from "playwright-core";
import { uiFolder } from "./trace_processor.mjs";

const [packages, samples, executablePath] = process.argv.slice(2);

// Rows with their numbers of slices and of asynchronous slices.
const HOST = [["main", 6, 0], ["loader", 2, 0], ["main (4000) · overlapping 2", 1, 0], [null, 0, 2]];
const GPU = [["stream 7", 3, 0], ["stream 13", 2, 0], ["stream 7 · spans", 1, 0],
  ["stream 7 · spans 2", 2, 0]];
const COUNTERS = [["GPU busy", 6], ["copies in flight", 4], ["DRAM read (GB/s)", 2]];
const PROCESSES = [
  ["digits (rank 0 on node7)", ["GPU times are within 1.250 µs of CPU times"], HOST, []],
  ["GPU 0 · NVIDIA H200 (rank 0 on node7)", ["GPU 0"], GPU, COUNTERS],
];
const EXPECTED = { warnings: [], arrows: 7, processes: PROCESSES };

const server = createServer(async (request, response) => {
  try {
    const body = await readFile(join(uiFolder(packages), "assets", request.url));
    const type = extname(request.url) === ".html" ? "text/html" : "text/javascript";
    response.writeHead(200, { "content-type": type }).end(body);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
try {
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/catapult_trace_viewer.html`);
  await page.waitForFunction("typeof tr === 'object' && tr.importer?.Import");
  const trace = await readFile(join(samples, "rank0.json"), "utf8");
  const found = await page.evaluate((trace) => {
    const model = new globalThis.tr.Model();
    new globalThis.tr.importer.Import(model).importTraces([trace]);
    const rows = (process) => Object.values(process.threads).map((row) =>
      [row.name ?? null, row.sliceGroup.slices.length, row.asyncSliceGroup.slices.length]);
    const counters = (process) => Object.values(process.counters).flatMap((counter) =>
      counter.series.map((series) => [`${counter.name} ${series.name}`, series.samples.length]));
    const processes = Object.values(model.processes).map((process) =>
      [process.name, process.labels, rows(process), counters(process)]);
    const warnings = model.importWarnings.map((warning) => warning.message);
    return { warnings, arrows: model.flowEvents.length, processes };
  }, trace);
  for (const { processes } of [found, EXPECTED]) processes.sort(([a], [b]) => (a < b ? -1 : 1));
  deepStrictEqual(found, EXPECTED);
  console.log("ok chrome://tracing: rows, counters and arrows, and no warning");
} catch (error) {
  console.log(`FAILED chrome://tracing: ${error.message}`);
  process.exitCode = 1;
} finally {
  await browser.close();
  server.close();
}
