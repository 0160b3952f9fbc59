// A function or a kernel on its own, in a dialog that is left by Escape.

const dialog = byId('details');
let opened = [];

function openDialog(draw) {
  opened.push(draw);
  redrawDialog();
  if (!dialog.open) dialog.showModal();
}

function redrawDialog() {
  const { title, content } = opened[opened.length - 1]();
  const back = opened.length > 1
    ? el('button', { type: 'button', onclick: () => { opened.pop(); redrawDialog(); } }, 'Back')
    : null;
  const close = el('button', { type: 'button', class: 'close', onclick: () => dialog.close() },
    'Close');
  dialog.replaceChildren(
    el('div', { class: 'dialog-head' }, el('h2', { id: 'details-title', tabindex: '-1' }, title),
      back, close),
    el('div', { class: 'dialog-body' }, content));
  dialog.scrollTop = 0;
  if (dialog.open) dialog.querySelector('h2').focus();
}

dialog.addEventListener('close', () => { opened = []; });
dialog.addEventListener('click', (event) => {
  // Only the backdrop is the dialog itself.
  if (event.target === dialog) dialog.close();
});

function factList(facts) {
  return el('dl', { class: 'facts' }, facts.filter(([, value]) => value).map(([name, value]) =>
    el('div', null, el('dt', null, name), el('dd', null, value))));
}

const DURATION_HEADINGS = ['Calls', 'Total', 'Avg', 'Med', 'Max'];

function durationCells([calls, total, mean, median, max]) {
  return [count(calls), ...[total, mean, median, max].map(duration)];
}

// The sums of what `other` picks, by function.
function neighbours(at, other) {
  const sums = new Map();
  nodes.forEach((node, own) => {
    if (node.function !== at) return;
    for (const [position, counted] of other(node, own)) {
      const near = nodes[position];
      const key = near.function ?? near.name;
      const sum = sums.get(key) ?? { node: near, gpu: 0, cpu: 0, marks: new Set() };
      sum.gpu += nodes[counted].gpu_ns;
      if (!profile.has_cupti) sum.marks.add(gpuMark(tables.tree, nodes[counted].row));
      sum.cpu += nodes[counted].cpu_ns;
      sums.set(key, sum);
    }
  });
  return [...sums.values()].sort((a, b) => b.gpu - a.gpu || b.cpu - a.cpu)
    .map(({ node, gpu, cpu, marks }) => [
      node.function === null ? node.name : functionButton(node.function),
      gpu > 0 ? [...markElement([...marks].join('')), duration(gpu)] : NONE, duration(cpu)]);
}

function timesTable(one) {
  const rows = [['GPU span', one.gpu], ['CPU', one.cpu], ['Wall', one.wall]]
    .filter(([, stats]) => stats);
  if (rows.length === 0) return null;
  const cells = (stats) => [stats.total, stats.self, stats.mean, stats.min, stats.p50, stats.p90,
    stats.p95, stats.p99, stats.max, stats.stddev].map(duration);
  const marks = ['Span', 'Span self'].map((heading) =>
    markElement(gpuMark(tables.functions, one.row, heading)));
  const marked = (cell, at) => [...(marks[at] ?? []), cell];
  return smallTable('Times', ['Time', 'Total', 'Self', 'Avg', 'Min', 'Med', 'p90', 'p95', 'p99', 'Max',
    'Std dev'], rows.map(([name, stats]) =>
    [name, ...cells(stats).map(stats === one.gpu ? marked : (cell) => cell)]));
}

function section(rows, caption, headings) {
  return rows.length > 0 ? smallTable(caption, headings, rows) : null;
}

function functionContent(at) {
  const one = functions[at];
  const mark = tables.functions.marks[one.row];
  const findings = profile.findings.filter((found) => found.function === at);
  const timed = one.has_stream && one.gpu
    ? `${count(one.timed_calls)} of ${count(one.calls)}` : '';
  const kernelRow = ([kernel, ...times]) => [
    typeof kernel === 'number'
      ? el('button', { type: 'button', class: 'link', onclick: () => openKernel(kernel) },
        tables.activities.names[kernel])
      : kernel,
    ...durationCells(times)];
  const optional = (ns) => (ns === null ? NONE : duration(ns));
  const spanMark = gpuMark(tables.functions, one.row);
  const sum = (ns) => (ns === null ? NONE : [...markElement(spanMark), duration(ns)]);
  return [
    factList([
      ['Source', `${one.file}:${one.line}`], ['Module', one.module], ['Calls', count(one.calls)],
      ['GPU-timed calls', timed], ['Threads', count(one.threads)],
      ['Kind', [one.is_async ? 'async' : '', one.cpu_only ? 'marked cpu' : '',
        !one.has_stream && !one.cpu_only ? 'no stream' : ''].filter(Boolean).join(', ')],
    ]),
    mark ? el('p', { class: 'note' }, ...markElement(mark), ` ${markTitle(mark)}`) : null,
    findings.map((found) => el('p', { class: 'inline-finding' },
      found.gain_ns > 0
        ? el('strong', null, `${duration(found.gain_ns)} saved at most: `) : null,
      `${found.evidence}. → ${found.advice}`)),
    timesTable(one),
    peakFigure(profile.peaks?.functions[at], 'Shares of the peaks while its kernels ran'),
    el('div', { class: 'pair' },
      one.gpu?.histogram.length ? histogramFigure(one.gpu, 'GPU span of a call') : null,
      one.cpu?.histogram.length ? histogramFigure(one.cpu, 'CPU time of a call') : null,
      one.wall?.histogram.length ? histogramFigure(one.wall, 'Wall time of a call') : null),
    section(one.kernels.map(kernelRow), 'Kernels that it launched',
      ['Kernel', ...DURATION_HEADINGS]),
    section(one.copies.map(([name, ...rest]) =>
      [name, ...durationCells(rest), bytes(rest[5])]), 'Copies and memsets',
    ['Copy', ...DURATION_HEADINGS, 'Size']),
    section(one.api.map(([name, ...rest]) =>
      [name, ...durationCells(rest), rest[5] > 0 ? count(rest[5]) : NONE]), 'CUDA API calls',
    ['API call', ...DURATION_HEADINGS, 'Failed']),
    section(neighbours(at, (node, own) => (node.parent === null ? [] : [[node.parent, own]])),
      'Called from', ['Function', 'GPU', 'CPU']),
    section(neighbours(at, (node) => node.children.map((child) => [child, child])),
      'Calls', ['Function', 'GPU', 'CPU']),
    section(one.labels.map(([label, calls, cpu, cpuMean, busy, span, mean, max]) =>
      [`[${label}]`, count(calls), optional(busy), sum(span), optional(mean), optional(max),
        duration(cpu), duration(cpuMean)]), 'Labels',
    ['Label', 'Calls', 'Busy', 'Span', 'Avg', 'Max', 'CPU', 'CPU avg']),
    section(one.devices.map(([ordinal, calls, total, self, ...times]) =>
      [`GPU ${ordinal}`, count(calls), sum(total), sum(self), ...times.map(duration)]), 'Devices',
    ['Device', 'Timed calls', 'Span', 'Self', 'Avg', 'Med', 'p95', 'Max']),
  ];
}

function openFunction(at) {
  openDialog(() => ({ title: functions[at].shown, content: functionContent(at) }));
}

// The cells of a row of the table of kernels, with their headings.
function kernelFacts(at) {
  return tables.activities.columns.map((column) => {
    const value = column.values[at];
    const unit = /\((.*)\)$/.exec(column.heading)?.[1] ?? '';
    const name = column.heading.replace(/\(.*\)$/, '');
    return [name, value === null || value === undefined ? ''
      : `${digits(column, value)}${unit ? ` ${unit}` : ''}`];
  });
}

function openKernel(at) {
  const kernel = kernels[at];
  const launchers = functions.map((one, position) => ({ position, one }))
    .map(({ position, one }) => ({ position, times: one.kernels.find(([number]) => number === at) }))
    .filter(({ times }) => times)
    .sort((a, b) => b.times[2] - a.times[2]);
  const size = (number) => (number > 0 ? bytes(number) : '0 B');
  openDialog(() => ({
    title: tables.activities.names[at],
    content: [
      peakFigure(profile.peaks?.kernels[at], 'Shares of the peaks'),
      sourceOf(at),
      factList(kernelFacts(at)),
      factList([
        ['p99', duration(kernel.p99_ns)],
        ['In graphs', kernel.graph_calls > 0 ? `${count(kernel.graph_calls)} of the calls` : ''],
        ['Streams', count(kernel.streams)], ['Registers per thread', count(kernel.registers)],
        ['Static shared memory per block', size(kernel.static_shared_bytes)],
        ['Dynamic shared memory per block', size(kernel.dynamic_shared_bytes)],
        ['Local memory per thread', size(kernel.local_bytes_per_thread)],
      ]),
      section(launchers.map(({ position, times }) =>
        [functionButton(position), ...durationCells(times.slice(1))]), 'Launched by',
      ['Function', ...DURATION_HEADINGS]),
      kernel.full_name ? el('h3', null, 'Full name') : null,
      kernel.full_name ? el('pre', { class: 'wrap' }, kernel.full_name) : null,
      kernel.symbol && kernel.symbol !== kernel.full_name ? el('h3', null, 'Symbol') : null,
      kernel.symbol && kernel.symbol !== kernel.full_name
        ? el('pre', { class: 'wrap' }, kernel.symbol) : null,
    ],
  }));
}
