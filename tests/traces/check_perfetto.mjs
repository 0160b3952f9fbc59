// Opens the sample traces in Perfetto's trace processor and compares what its SQL finds with what
// was written: node check_perfetto.mjs SITE_PACKAGES SAMPLES

import { deepStrictEqual } from "node:assert";
import { join } from "node:path";
import { TraceProcessor } from "./trace_processor.mjs";

const [packages, samples] = process.argv.slice(2);
const HOSTILE = 'a"},\n</script>\u001b[31m\u202egröße';

// Start, duration and depth of each slice, its name, and its row.
const SLICES = `
  select s.ts - trace_start(), s.dur, s.depth, s.category, s.name,
    coalesce(t.name, th.name)
  from slice s join track t on s.track_id = t.id
  left join thread_track tt on tt.id = t.id left join thread th using (utid)
  order by s.ts, s.dur desc, s.name`;

const HAND_MADE = [
  [1000, 99000, 0, "user_annotation", "train", "main"],
  [2000, 48000, 1, "user_annotation", "forward", "main"],
  [5000, 35000, 0, "user_annotation", "load", "loader"],
  [6000, 3000, 1, "cuda_driver", "cuMemcpyHtoDAsync_v2", "loader"],
  [10000, 4000, 2, "cuda_driver", "cuLaunchKernel", "main"],
  [12000, 18000, 0, "gpu_memcpy", "Memcpy HtoD", "stream 13"],
  [14000, 17000, 0, "gpu_user_annotation", "load", "stream 7 · spans"],
  [15000, 45000, 0, "gpu_user_annotation", "train", "stream 7 · spans 2"],
  [15500, 30500, 1, "gpu_user_annotation", "forward", "stream 7 · spans 2"],
  [16000, 20000, 0, "kernel", "matmul", "stream 7"],
  [20000, 3000, 2, "cuda_driver", "cuLaunchKernel", "main"],
  [30000, 1500, 2, "cuda_runtime", "cudaMemsetAsync", "main"],
  [32001, 1998, 0, "gpu_memcpy", "Memcpy DtoH", "stream 13"],
  [40000, 5000, 0, "kernel", "sgd", "stream 7"],
  [50000, 2000, 0, "gpu_memset", "Memset (Device)", "stream 7"],
  [60000, 30000, 1, "user_annotation", HOSTILE, "main"],
  [95000, 15000, 0, "user_annotation", "forward", "main (4000) · overlapping 2"],
];
const FLOWS = [
  ["cuLaunchKernel", 10000, "matmul", 16000],
  ["cuLaunchKernel", 20000, "sgd", 40000],
  ["cuMemcpyHtoDAsync_v2", 6000, "Memcpy HtoD", 12000],
  ["cudaMemsetAsync", 30000, "Memset (Device)", 50000],
  ["forward", 2000, "forward", 15500],
  ["load", 5000, "load", 14000],
  ["train", 1000, "train", 15000],
];
const COUNTERS = [
  ["DRAM read (GB/s)", 0, 0.5],
  ["DRAM read (GB/s)", 20000, 3.25],
  ["GPU busy", 12000, 1],
  ["GPU busy", 36000, 0],
  ["GPU busy", 40000, 1],
  ["GPU busy", 45000, 0],
  ["GPU busy", 50000, 1],
  ["GPU busy", 52000, 0],
  ["copies in flight", 12000, 1],
  ["copies in flight", 30000, 0],
  ["copies in flight", 32001, 1],
  ["copies in flight", 33999, 0],
];
const argumentsIn = (format) => [
  ["epoch", "3", null], ["path", HOSTILE, null], ["device", null, 0], ["stream", null, 7],
  // In JSON above 16 bits, for HTA.
  ["correlation", null, format === "json" ? 32768 + 11 : 11], ["function", "forward", null], ["grid[1]", null, 4],
];
const GAPS = [[53000, 5000, 3], [70000, 10000, 12]];

let file = "";
function check(promise, found, expected) {
  try {
    deepStrictEqual(found, expected);
    console.log(`ok ${file}: ${promise}`);
  } catch (error) {
    console.log(`FAILED ${file}: ${promise}: ${error.message}`);
    process.exitCode = 1;
  }
}

// A recording's own slice and the gaps are compared on their own.
function slices(trace) {
  return trace.query(SLICES).filter((row) => row[3] !== "gpuprof");
}

function checkNoErrors(trace) {
  const sql = "select name, idx, value from stats where severity != 'info' and value > 0";
  check("no error or loss in its statistics", trace.query(sql), []);
}

function checkHandMade(trace, format) {
  checkNoErrors(trace);
  check("every slice has its time, depth and row", slices(trace), HAND_MADE);
  check("an arrow joins each call to its GPU span or activity", trace.query(`
    select a.name, a.ts - trace_start(), b.name, b.ts - trace_start() from flow f
    join slice a on f.slice_out = a.id join slice b on f.slice_in = b.id order by 1, 2`), FLOWS);
  check("counters have their values", trace.query(`
    select t.name, c.ts - trace_start(), c.value from counter c join counter_track t on t.id = c.track_id
    order by 1, 2`), COUNTERS);
  const written = argumentsIn(format);
  check("arguments and fields are those written", written.map(([name]) => trace.query(`
    select '${name}', string_value, int_value from args join slice using (arg_set_id)
    where slice.name in ('train', 'matmul') and key glob '*.${name.replace("[", "[[]")}'`)[0]),
    written);
  check("the process is named by its rank", trace.query(`
    select name from process where name glob 'digits*'`), [["digits (rank 0 on node7)"]]);
  check("gaps are shown with their number of events", trace.query(`
    select s.ts - trace_start(), s.dur, a.int_value from slice s join args a using (arg_set_id)
    where s.category = 'gpuprof' and a.key glob '*.events' order by 1`), GAPS);
}

// In JSON this is a field of the document, which the trace processor does not read.
function checkRecording(trace) {
  check("the recording states its origin and the error of its clocks", trace.query(`
    select substr(key, 7), coalesce(string_value, int_value) from args join slice using (arg_set_id)
    where slice.name = 'recording' and key glob 'debug.*' and key != 'debug.base_unix_ns'`), [
    ["program", "digits"], ["host", "node7"], ["pid", 4000], ["rank", 0], ["ranks", 2],
    ["clock_error_ns", 1250],
  ]);
}

async function open(name) {
  file = name;
  return TraceProcessor.open(packages, join(samples, name));
}

for (const extension of ["json", "pftrace"]) {
  const handMade = await open(`rank0.${extension}`);
  checkHandMade(handMade, extension);
  if (extension === "pftrace") checkRecording(handMade);
  const random = await open(`random.${extension}`);
  checkNoErrors(random);
  check("200,000 slices and the arrows of each launch and span", [
    random.query("select count(*) from slice where category != 'gpuprof'"),
    random.query("select count(*) from flow"),
    random.query("select count(*) from slice where dur < 0"),
  ], [[[200000]], [[100000]], [[0]]]);
}
