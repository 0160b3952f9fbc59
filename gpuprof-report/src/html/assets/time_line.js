// The time line of the last events: zoomed and moved by mouse and keyboard.

const TRACKS_AT_ONCE = 24;
const LISTED_EVENTS = 200;
// Nanoseconds that the narrowest view shows.
const LEAST_VIEW = 50;

function startText(start) {
  return start < 0 ? `began ${duration(-start)} before what is drawn` : `at ${duration(start)}`;
}

function eventLines(one) {
  if (one.row.isCounter) {
    return [one.name, `counter · ${one.row.group}`, counterText(one),
      `for ${duration(one.length)}, ${startText(one.start)}`];
  }
  const rate = one.length > 0 ? `, ${significant(one.size / one.length)} GB/s` : '';
  return [one.name, `${EVENT_KINDS[one.kind]} · ${one.row.group} · ${one.row.name}`,
    `${duration(one.length)}, ${startText(one.start)}`,
    ...(one.size === undefined ? [] : [`${bytes(one.size)}${rate}`]), ...one.lines];
}

// Whether a name on the time line is this one: it may be cut in its middle.
function isSameName(shown, full) {
  const [head, tail] = shown.split('…');
  return shown === full
    || (tail !== undefined && full.startsWith(head) && full.endsWith(tail));
}

// What opens the event's function or kernel; null where none or several have its name.
function opener({ name, kind, row }) {
  const of = (list, isOne, open) => {
    const first = list.findIndex(isOne);
    return first >= 0 && list.findLastIndex(isOne) === first ? () => open(first) : null;
  };
  switch (EVENT_KINDS[kind]) {
    case 'function':
    case 'GPU span':
      return of(functions, (one) => one.name === name, openFunction)
        // With a label.
        ?? of(functions, (one) => name.startsWith(`${one.name}[`), openFunction);
    case 'kernel': {
      const isHere = ({ device }) => `${row.group} `.startsWith(`GPU ${device} `);
      return of(kernels, (one) => isHere(one) && isSameName(name, one.full_name), openKernel)
        ?? of(kernels, (one, at) => isHere(one) && tables.activities.names[at] === name,
          openKernel);
    }
    default:
      return null;
  }
}

class TimeLine {
  constructor(data, into) {
    this.length = Math.max(data.length_ns, LEAST_VIEW);
    this.all = timeLineRows(data);
    this.rows = this.all.slice(0, TRACKS_AT_ONCE);
    this.view = { from: 0, length: this.length };
    this.chosen = null;
    this.canvas = el('canvas', { 'aria-hidden': 'true' });
    this.tip = el('div', { class: 'tip', 'aria-hidden': 'true', hidden: true });
    this.frame = el('div', {
      class: 'time-line', tabindex: '0', role: 'application', 'aria-describedby': 'time-line-keys',
      'aria-label': `Time line: ${plural(data.shown, 'event')} in ${plural(this.all.length, 'row')}`,
    }, this.canvas, this.tip);
    this.range = el('p', { class: 'note range' });
    this.info = el('p', { class: 'frame-info', role: 'status' });
    this.more = el('p', { class: 'more' });
    this.list = el('details', null, el('summary', null, 'The longest events in view as a table'));
    const button = (text, act) => el('button', { type: 'button', onclick: act }, text);
    into.append(
      el('div', { class: 'bar' }, button('Zoom in', () => this.zoom(0.5)),
        button('Zoom out', () => this.zoom(2)), button('Earlier', () => this.move(-0.5)),
        button('Later', () => this.move(0.5)), button('All', () => this.show(0, this.length)),
        this.range),
      this.frame, this.info, this.more, this.list);
    this.list.addEventListener('toggle', () => this.drawList());
    this.listen();
    this.drawMore();
    whenLookChanges(this.frame, () => this.draw());
  }

  drawMore() {
    const left = this.all.length - this.rows.length;
    this.canvas.style.height = `${placeRows(this.rows)}px`;
    if (left === 0) {
      this.more.replaceChildren();
      return;
    }
    this.more.replaceChildren(el('button', {
      type: 'button',
      onclick: () => {
        this.rows = this.all;
        this.drawMore();
        this.draw();
      },
    }, `Show ${plural(left, 'more row')}`));
  }

  draw() {
    drawRows(this.canvas, this.rows, this.view, this.chosen);
    const ms = (ns) => `${(ns / 1e6).toFixed(6)} ms`;
    this.range.textContent = `${ms(this.view.from)} to ${ms(this.view.from + this.view.length)}`;
    this.drawList();
  }

  drawList() {
    if (!this.list.open) return;
    const { from, length } = this.view;
    const inView = this.all.flatMap(({ events }) => events)
      .filter(({ start, end }) => end >= from && start <= from + length)
      .sort((a, b) => b.length - a.length || a.start - b.start).slice(0, LISTED_EVENTS);
    this.list.querySelector('.scroll')?.remove();
    this.list.append(smallTable('Events in view', ['Event', 'Kind', 'Row', 'Duration', 'Start',
      'Details'], inView.map((one) => {
      const lines = eventLines(one);
      return [one.name, EVENT_KINDS[one.kind], `${one.row.group} · ${one.row.name}`,
        duration(one.length), startText(one.start), lines.slice(3).join(', ')];
    })));
  }

  // Shows a range, as far as there is anything.
  show(from, length) {
    const wide = Math.min(this.length, Math.max(LEAST_VIEW, length));
    this.view = { from: Math.min(this.length - wide, Math.max(0, from)), length: wide };
    this.tip.hidden = true;
    this.draw();
  }

  zoom(factor, at = 0.5) {
    const { from, length } = this.view;
    const wide = Math.min(this.length, Math.max(LEAST_VIEW, length * factor));
    this.show(from + (length - wide) * at, wide);
  }

  move(part) {
    this.show(this.view.from + part * this.view.length, this.view.length);
  }

  zoomTo(one) {
    const wide = Math.max(LEAST_VIEW, one.length * 1.25);
    this.show(one.start - (wide - one.length) / 2, wide);
  }

  choose(one) {
    if (!one) return;
    this.chosen = one;
    const open = opener(one);
    this.info.replaceChildren(eventLines(one).join(' · '), ...(open ? [' ',
      el('button', { type: 'button', class: 'link', onclick: open }, 'Open')] : []));
    const { from, length } = this.view;
    if (one.end < from || one.start > from + length) {
      this.show(one.start + one.length / 2 - length / 2, length);
    } else this.draw();
  }

  // The event at a mouse's place.
  under(event) {
    const { left, top, width } = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    return { one: eventAt(this.rows, this.view, width, x, y), x, y, width };
  }

  describe(event) {
    const { one, x, y, width } = this.under(event);
    this.tip.hidden = !one;
    if (!one) return;
    this.tip.replaceChildren(...eventLines(one).map((line) => el('div', null, line)));
    this.tip.style.left = `${Math.max(0, Math.min(x + 12, width - this.tip.offsetWidth))}px`;
    this.tip.style.top = `${y + 16}px`;
  }

  listen() {
    const { frame } = this;
    let drag = null;
    frame.addEventListener('pointerdown', (event) => {
      drag = { x: event.clientX, from: this.view.from, moved: false };
      frame.setPointerCapture(event.pointerId);
    });
    frame.addEventListener('pointermove', (event) => {
      if (!drag) {
        this.describe(event);
        return;
      }
      const distance = event.clientX - drag.x;
      drag.moved ||= Math.abs(distance) > 3;
      const { length } = this.view;
      if (drag.moved) this.show(drag.from - (distance / frame.clientWidth) * length, length);
    });
    frame.addEventListener('pointerup', (event) => {
      if (drag && !drag.moved) this.choose(this.under(event).one);
      drag = null;
    });
    frame.addEventListener('pointercancel', () => { drag = null; });
    frame.addEventListener('pointerleave', () => { this.tip.hidden = true; });
    frame.addEventListener('dblclick', (event) => {
      const { one } = this.under(event);
      if (one) this.zoomTo(one);
    });
    frame.addEventListener('wheel', (event) => {
      const { x, width } = this.under(event);
      const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
      if (event.ctrlKey || event.metaKey) this.zoom(event.deltaY > 0 ? 1.25 : 0.8, x / width);
      else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        this.move(sideways / width);
      } else return;
      event.preventDefault();
    }, { passive: false });
    frame.addEventListener('keydown', (event) => this.key(event));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const to = {
      ArrowRight: () => this.neighbour(1), ArrowLeft: () => this.neighbour(-1),
      ArrowDown: () => this.otherRow(1), ArrowUp: () => this.otherRow(-1),
      w: () => this.zoom(0.5), '+': () => this.zoom(0.5),
      s: () => this.zoom(2), '-': () => this.zoom(2),
      a: () => this.move(-0.25), d: () => this.move(0.25),
      Enter: () => this.chosen && this.zoomTo(this.chosen),
      o: () => this.chosen && opener(this.chosen)?.(),
      Home: () => this.show(0, this.length), Escape: () => this.show(0, this.length),
    }[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!to) return;
    event.preventDefault();
    to();
  }

  neighbour(step) {
    const events = (this.chosen?.row ?? this.rows[0])?.events ?? [];
    this.choose(events[this.chosen ? events.indexOf(this.chosen) + step : 0]);
  }

  // The event of the next row that is nearest in time.
  otherRow(step) {
    if (!this.chosen) {
      this.neighbour(1);
      return;
    }
    const { chosen } = this;
    const row = this.rows[this.rows.indexOf(chosen.row) + step];
    const apart = ({ start }) => Math.abs(start - chosen.start);
    this.choose(row?.events.reduce((best, one) => (apart(one) < apart(best) ? one : best)));
  }
}

function drawTimeLine() {
  const data = profile.time_line;
  if (!data || data.shown === 0) return;
  const into = byId('time-line');
  const part = data.shown < data.events
    ? `The last ${count(data.shown)} of ${count(data.events)} events`
    : plural(data.shown, 'event');
  into.append(el('p', null, `${part}, ${duration(data.length_ns)}.`));
  new TimeLine(data, into);
  const key = (text) => el('kbd', null, text);
  into.append(
    el('p', { class: 'note keys', id: 'time-line-keys' }, key('W'), ' ', key('S'),
      ' or Ctrl and the wheel zoom, ', key('A'), ' ', key('D'), ' or dragging move, arrow keys go '
      + 'from event to event, ', key('Enter'), ' zooms to it, ', key('O'),
      ' opens its function or kernel, ', key('Home'), ' shows all.'),
    el('p', { class: 'note' }, [data.clock_error ? `${data.clock_error}.` : '',
      data.is_full ? 'Names and arguments beyond 100 kB are left out (…).' : '']
      .filter(Boolean).join(' ')));
}
