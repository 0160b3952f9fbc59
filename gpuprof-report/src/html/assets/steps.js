// How long the program's steps took: the last of them as bars, with the slowest named.

// Of the letters of a label, in pixels.
const LETTER_WIDTH = 7.5;

function stepName(step, rank) {
  return `step ${count(step)}${rank === undefined ? '' : ` of rank ${rank}`}`;
}

// A tick of a linear axis up to `most`: 1, 2 or 5 times a power of ten.
function roundTick(most) {
  const power = 10 ** Math.floor(Math.log10(Math.max(most, 1)));
  return [5, 2, 1].map((factor) => factor * power).find((tick) => tick <= most) ?? power;
}

class StepChart {
  constructor({ count: steps, series, first, slowest, mean_ns: mean }) {
    Object.assign(this, { series, first });
    this.most = Math.max(...series, 1);
    this.marked = slowest.filter(([step, , rank]) => rank === undefined && step >= first);
    this.info = el('p', { class: 'frame-info', 'aria-hidden': 'true' });
    this.canvas = el('canvas', { 'aria-hidden': 'true' });
    this.labels = el('div', { class: 'labels' });
    const tick = roundTick(this.most);
    const label = `Steps ${count(first)} to ${count(steps)}: mean of all ${duration(mean)}`
      + this.marked.map(([step, ns]) => `, ${stepName(step)}: ${duration(ns)}`).join('');
    this.bars = el('div', { class: 'step-bars' }, this.canvas,
      this.line('grid', tick, roundDuration(tick)), this.line('mean', mean, null));
    this.element = el('div', { class: 'steps', role: 'img', 'aria-label': label },
      this.labels, this.bars, el('div', { class: 'step-ends', 'aria-hidden': 'true' },
        el('span', null, stepName(first)), el('span', null, stepName(steps))));
    this.bars.addEventListener('mousemove', (event) => this.describe(event));
    this.bars.addEventListener('mouseleave', () => { this.info.textContent = ''; });
    whenLookChanges(this.element, () => {
      this.drawBars();
      this.drawLabels();
    });
  }

  line(kind, ns, text) {
    const line = el('span', { class: `level ${kind}` }, text);
    line.style.bottom = `${Math.min(100, 100 * (ns / this.most))}%`;
    return line;
  }

  describe(event) {
    const { left, width } = this.bars.getBoundingClientRect();
    const under = Math.floor(((event.clientX - left) / width) * this.series.length);
    const at = Math.min(this.series.length - 1, Math.max(0, under));
    this.info.textContent = `${stepName(this.first + at)}: ${duration(this.series[at])}`;
  }

  // Bars of at least a pixel, so that a single long step is seen among thousands.
  drawBars() {
    const { context, width, height } = fitCanvas(this.canvas);
    const each = width / this.series.length;
    context.fillStyle = colour('bars');
    this.series.forEach((ns, at) => {
      const high = height * (ns / this.most);
      context.fillRect(at * each, height - high, Math.max(1, each - (each > 4 ? 1 : 0)), high);
    });
  }

  // Every one of the slowest has a mark, and those have a name for which there is room.
  drawLabels() {
    const width = this.element.clientWidth;
    const taken = [];
    const named = this.marked.map(([step, ns]) => {
      const middle = (step - this.first + 0.5) / this.series.length;
      const dot = el('span', { class: 'dot', title: `${stepName(step)}: ${duration(ns)}` });
      dot.style.left = `${middle * 100}%`;
      dot.style.bottom = `${100 * (ns / this.most)}%`;
      const text = `${stepName(step)}: ${duration(ns)}`;
      const room = text.length * LETTER_WIDTH;
      const left = Math.min(Math.max(0, middle * width - room / 2), Math.max(0, width - room));
      if (taken.some((other) => left < other + room + 4 && other < left + room + 4)) return { dot };
      taken.push(left);
      const label = el('span', null, text);
      label.style.left = `${left}px`;
      return { dot, label };
    });
    this.labels.replaceChildren(...named.flatMap(({ label }) => label ?? []));
    for (const dot of [...this.bars.querySelectorAll('.dot')]) dot.remove();
    this.bars.append(...named.map(({ dot }) => dot));
  }
}

function stepTable(caption, steps, mean) {
  return smallTable(caption, ['Step', 'Time', 'Of the mean'], steps.map(([step, ns, rank]) => [
    stepName(step, rank), duration(ns), mean > 0 ? `${percent(ns / mean)} %` : NONE]));
}

function drawSteps() {
  const { steps } = profile;
  if (!steps) return;
  const into = byId('steps');
  const { count: all, series, first } = steps;
  const drawn = series.length < all && series.length > 0
    ? ` The last ${count(series.length)} are drawn.` : '';
  into.append(el('p', null, `${plural(all, 'step')}, mean ${duration(steps.mean_ns)}, from `
    + `${duration(steps.min_ns)} to ${duration(steps.max_ns)}.${drawn}`));
  if (series.length > 0) {
    const chart = new StepChart(steps);
    into.append(chart.element, chart.info);
  }
  if (steps.slowest.length > 0) {
    into.append(stepTable('The slowest steps', steps.slowest, steps.mean_ns));
  }
  if (series.length > 0) {
    const rows = () => stepTable('Step times', series.map((ns, at) => [first + at, ns]),
      steps.mean_ns);
    const list = el('details', null, el('summary', null, 'The drawn steps as a table'));
    list.addEventListener('toggle', () => list.append(rows()), { once: true });
    into.append(list);
  }
  into.append(el('p', { class: 'note' }, 'A step is the wall time from one call of ',
    el('code', null, 'gpuprof::step()'), ' to the next. The dashed line is the mean of all steps.'));
}
