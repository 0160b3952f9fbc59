// Histograms of durations on a logarithmic axis.

// The steps within a power of ten that have a tick, the fewest first.
const TICK_STEPS = [[1], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9]];

// An axis over the durations of several statistics.
function logAxis(all) {
  let [low, high] = [Infinity, 1];
  for (const { histogram, p99 } of all) {
    if (histogram.length === 0) continue;
    low = Math.min(low, Math.max(1, bucketBounds(histogram[0][0])[0]));
    high = Math.max(high, p99, bucketBounds(histogram[histogram.length - 1][0])[1]);
  }
  if (low >= high) [low, high] = [1, 10];
  // Room beside the outermost buckets.
  [low, high] = [low / 1.15, high * 1.15];
  const span = Math.log(high / low);
  const at = (ns) => Math.min(1, Math.max(0, Math.log(Math.max(ns, low) / low) / span));
  const ticksOf = (steps) => {
    const ticks = [];
    for (let power = 1; power <= high; power *= 10) {
      ticks.push(...steps.map((step) => step * power).filter((ns) => ns >= low && ns <= high));
    }
    return ticks;
  };
  const choices = TICK_STEPS.map(ticksOf);
  return { at, ticks: choices.find((ticks) => ticks.length >= 2) ?? choices[2] };
}

function axisElement(axis) {
  return el('div', { class: 'axis', 'aria-hidden': 'true' }, axis.ticks.map((ns) =>
    positioned(el('span', null, roundDuration(ns)), axis.at(ns), 0)));
}

// The bars of one histogram, with lines at the median and the 99th percentile.
function strip(stats, axis, label) {
  const densities = stats.histogram.map(([bucket, calls]) => {
    const [low, high] = bucketBounds(bucket);
    return calls / Math.log((high + 0.5) / (low + 0.5));
  });
  const most = Math.max(...densities, 0);
  const bars = stats.histogram.map(([bucket, calls], at) => {
    const [low, high] = bucketBounds(bucket);
    const left = axis.at(low);
    const text = `${duration(low)} to ${duration(high)}: ${count(calls)} calls`;
    const bar = positioned(el('span', { class: 'column', title: text }), left,
      Math.max(0.002, axis.at(high) - left));
    bar.style.height = `${Math.max(5, 100 * (densities[at] / most))}%`;
    return bar;
  });
  const line = (kind, ns) => positioned(el('span', { class: `line ${kind}` }), axis.at(ns), 0);
  const text = `${label}: median ${duration(stats.p50)}, 95th percentile ${duration(stats.p95)}, `
    + `99th percentile ${duration(stats.p99)}, from ${duration(stats.min)} to `
    + `${duration(stats.max)}`;
  return el('div', { class: 'strip', role: 'img', 'aria-label': text },
    axis.ticks.map((ns) => positioned(el('span', { class: 'grid' }), axis.at(ns), 0)),
    bars, line('median', stats.p50), line('p99', stats.p99));
}

function histogramFigure(stats, label) {
  const axis = logAxis([stats]);
  return el('figure', { class: 'histogram' }, el('figcaption', null, label),
    strip(stats, axis, label), axisElement(axis));
}

const STRIPS_AT_ONCE = 12;

const SPAN_KINDS = [
  ['gpu', 'GPU span of a call'],
  ['cpu', 'CPU time of a call'],
  ['wall', 'Wall time of an async call'],
];

function drawDistribution() {
  const into = byId('distribution');
  const of = (kind) => functions.map((one, at) => ({ at, stats: one[kind] }))
    .filter(({ stats }) => stats && stats.histogram.length > 0)
    .sort((a, b) => b.stats.total - a.stats.total);
  const kinds = SPAN_KINDS.filter(([kind]) => of(kind).length > 0);
  if (kinds.length === 0) return;
  const list = el('div', { class: 'strips' });
  const more = el('p', { class: 'more' });
  const show = (kind, most) => {
    const all = of(kind);
    const shown = all.slice(0, most);
    const axis = logAxis(shown.map(({ stats }) => stats));
    const heading = el('div', { class: 'strip-row head', 'aria-hidden': 'true' },
      el('span', null, 'Function'), axisElement(axis),
      ['Med', 'p99', 'Max'].map((text) => el('span', { class: 'number' }, text)));
    const row = ({ at, stats }) => el('div', { class: 'strip-row', role: 'listitem' },
      el('span', { class: 'first-cell', title: functions[at].shown }, functionButton(at)),
      strip(stats, axis, functions[at].shown),
      [stats.p50, stats.p99, stats.max].map((ns) => el('span', { class: 'number' }, duration(ns))));
    list.replaceChildren(heading, el('div', { role: 'list' }, shown.map(row)));
    more.replaceChildren();
    if (all.length > shown.length) {
      more.append(`${shown.length} of ${count(all.length)} functions, those with the most time. `,
        el('button', { type: 'button', onclick: () => show(kind, most + STRIPS_AT_ONCE * 4) },
          'Show more'));
    }
  };
  into.append(el('div', { class: 'bar' },
    choice('Duration', kinds, kinds[0][0], (kind) => show(kind, STRIPS_AT_ONCE))),
  list, more, el('p', { class: 'note' },
    'The axis is logarithmic. Solid line: median; dashed line: 99th percentile. Buckets are '
    + 'within 1/32 of the durations that they count.'));
  show(kinds[0][0], STRIPS_AT_ONCE);
}
