'use strict';

// The profile as objects. Records come as arrays in the order of their field names.

const profile = JSON.parse(document.getElementById('profile').textContent);

function records({ fields, rows }) {
  return rows.map((row) => Object.fromEntries(fields.map((field, at) => [field, row[at]])));
}

const functions = records(profile.functions);
const kernels = records(profile.kernels);
const nodes = records(profile.nodes);

// Statistics of durations in ns, with the histogram as [bucket, count] pairs.
function spanStats(record) {
  if (!record) return null;
  const [total, self, mean, min, p50, p90, p95, p99, max, stddev, distances] = record;
  const histogram = [];
  let bucket = 0;
  for (let at = 0; at < distances.length; at += 2) {
    bucket += distances[at];
    histogram.push([bucket, distances[at + 1]]);
  }
  return { total, self, mean, min, p50, p90, p95, p99, max, stddev, histogram };
}

for (const one of functions) {
  one.cpu = spanStats(one.cpu);
  one.gpu = spanStats(one.gpu);
  one.wall = spanStats(one.wall);
}

// The durations that a bucket counts, in ns: 16 buckets per octave.
function bucketBounds(bucket) {
  const octave = Math.floor(bucket / 16);
  const step = bucket % 16;
  if (octave === 0) return [step, step + 1];
  const width = 2 ** (octave - 1);
  return [(16 + step) * width, (17 + step) * width];
}

for (const table of Object.values(profile.tables)) {
  for (const column of table.columns) {
    if (!column.sparse) continue;
    column.values = new Array(table.names.length).fill(null);
    for (const [at, value] of Object.entries(column.sparse)) column.values[at] = value;
  }
}

const tables = profile.tables;
tables.tree.names = tables.tree.names.map((name) =>
  typeof name === 'number' ? tables.functions.names[name] : name);

// Names as the tables show them: with the file where several functions have one name.
for (const one of functions) one.shown = one.name;
tables.functions.rows.forEach((at, row) => {
  functions[at].shown = tables.functions.names[row];
  functions[at].row = row;
});

// What the rows of the call tree show, and the children of each node.
for (const node of nodes) {
  node.children = [];
  node.activities = [];
}
const roots = [];
nodes.forEach((node, at) => {
  if (node.parent === null) roots.push(at);
  else nodes[node.parent].children.push(at);
});
let unattributedRow = null;
tables.tree.rows.forEach(([node, kernel, copies], row) => {
  if (node === undefined) {
    unattributedRow = row;
  } else if (kernel === undefined) {
    nodes[node].row = row;
    nodes[node].name = tables.tree.names[row];
  } else {
    const activity = kernel ?? kernels.length + (copies ?? Infinity);
    tables.tree.names[row] = tables.activities.names[activity] ?? '(unknown)';
    nodes[node].activities.push({ row, activity, isKernel: kernel !== null });
  }
});

// The column of durations with this heading.
function durationColumn(table, heading) {
  return table.columns.find((column) =>
    column.format === 'decimal' && column.heading.startsWith(`${heading}(`));
}

// What stands before the GPU time of a function or a node: `~`, `≥` and the like, or nothing. Busy
// times have no mark.
function gpuMark(table, row, heading = 'Span') {
  return durationColumn(table, heading)?.marks[row] ?? '';
}
