// The events of the time line, where they are on the canvas, and how they are drawn.

const LANE_HEIGHT = 18;
const ROW_HEAD = 17;
const ROW_GAP = 8;
const AXIS_HEIGHT = 20;
const LANES_AT_ONCE = 12;
const TICK_DISTANCE = 90;
const TEXT_FONT = '11px system-ui, sans-serif';

const EVENT_KINDS = ['function', 'API call', 'kernel', 'copy', 'GPU span', 'missing', 'counter'];
const COUNTER_HEIGHT = 3 * LANE_HEIGHT;

// Rows with their events as objects, in the order of their starts.
function timeLineRows({ rows, texts, details }) {
  return rows.map((row) => {
    let start = 0;
    const made = { name: texts[row.name], group: texts[row.group] };
    made.events = row.events.map(([delta, length, depth, kind, name, lines, size]) => {
      start += delta;
      return {
        row: made, start, length, end: start + length, depth, kind, size, name: texts[name],
        lines: (lines === undefined || lines === null) ? [] : details[lines].map((at) => texts[at]),
      };
    });
    const lanes = made.events.reduce((most, { depth }) => Math.max(most, depth + 1), 1);
    made.lanes = row.is_counter ? COUNTER_HEIGHT / LANE_HEIGHT : Math.min(lanes, LANES_AT_ONCE);
    // A counter is as high as its largest value.
    made.largest = row.is_counter ? Math.max(...made.events.map(({ size }) => size)) : 0;
    made.isCounter = Boolean(row.is_counter);
    made.isCut = lanes > LANES_AT_ONCE;
    return made;
  });
}

// Gives each row its place. Returns the height of all.
function placeRows(rows) {
  let top = AXIS_HEIGHT;
  for (const row of rows) {
    row.top = top;
    top += ROW_HEAD + row.lanes * LANE_HEIGHT + ROW_GAP;
  }
  return top;
}

function eventAt(rows, view, width, x, y) {
  const row = rows.find(({ top, lanes }) => y >= top && y < top + ROW_HEAD + lanes * LANE_HEIGHT);
  if (!row) return null;
  const depth = row.isCounter ? 0 : Math.floor((y - row.top - ROW_HEAD) / LANE_HEIGHT);
  const at = view.from + (x / width) * view.length;
  // Events of less than a pixel are drawn with one.
  const reach = (1.5 / width) * view.length;
  const apart = (one) => Math.max(one.start - at, at - one.end, 0);
  return row.events.filter((one) => one.depth === depth && apart(one) <= reach)
    .sort((a, b) => apart(a) - apart(b) || a.length - b.length)[0] ?? null;
}

function eventColour({ kind, name }) {
  if (kind === 0 || kind === 4) return colourClass(name);
  return ['', 'all', 'kernel', 'copy', '', 'hit', 'all'][kind];
}

// A name as far as there is room: in full, its last part, or its beginning.
function fittingName(context, name, room) {
  const fits = (text) => context.measureText(text).width <= room;
  if (fits(name)) return name;
  const path = name.includes('<') ? -1 : name.lastIndexOf('::');
  const last = path < 0 ? name : name.slice(path + 2);
  if (fits(last)) return last;
  const letters = Math.floor(room / 6.5) - 1;
  return letters > 1 ? `${last.slice(0, letters)}…` : '';
}

function drawAxis(context, view, width, height, colours) {
  const least = (view.length * TICK_DISTANCE) / width;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= least);
  context.fillStyle = colours('dim');
  context.strokeStyle = colours('line');
  for (let tick = 0; tick * step <= view.length; tick += 1) {
    const x = (tick * step * width) / view.length;
    context.beginPath();
    context.moveTo(x + 0.5, 0);
    context.lineTo(x + 0.5, height);
    context.stroke();
    const ns = Number((tick * step).toPrecision(12));
    const text = `+${ns < 1e9 ? roundDuration(ns) : `${ns / 1e9} s`}`;
    if (x + context.measureText(text).width < width) context.fillText(text, x + 3, AXIS_HEIGHT / 2);
  }
}

// The value of a counter with its unit, which ends its name in brackets.
function counterText({ name, size }) {
  const [, unit] = name.match(/\(([^()]*)\)$/) ?? [null, ''];
  return unit === 'bytes' ? bytes(size) : `${significant(size)} ${unit}`.trim();
}

function drawValue(context, one, left, right, colours) {
  const height = one.row.largest > 0 ? (one.size / one.row.largest) * (COUNTER_HEIGHT - 1) : 0;
  context.fillStyle = colours('all');
  context.fillRect(left, one.row.top + ROW_HEAD + COUNTER_HEIGHT - 1 - height, right - left, height);
}

function drawEvent(context, one, left, right, colours) {
  if (one.row.isCounter) {
    drawValue(context, one, left, right, colours);
    return;
  }
  const top = one.row.top + ROW_HEAD + one.depth * LANE_HEIGHT;
  context.fillStyle = colours(eventColour(one));
  context.fillRect(left, top, right - left, LANE_HEIGHT - 1);
  if (right - left < 24) return;
  const name = fittingName(context, one.name, right - left - 6);
  context.fillStyle = colours('text');
  context.fillText(name, left + 3, top + LANE_HEIGHT / 2);
}

function drawRow(context, row, view, width, colours) {
  context.fillStyle = colours('dim');
  const most = row.isCounter ? ` · at most ${counterText({ name: row.name, size: row.largest })}` : '';
  const cut = row.isCut ? ` · ${LANES_AT_ONCE} levels` : '';
  context.fillText(`${row.group} · ${row.name}${most}${cut}`, 3,
    row.top + ROW_HEAD / 2);
  const drawn = new Array(row.lanes).fill(null);
  const x = (ns) => ((ns - view.from) / view.length) * width;
  for (const one of row.events) {
    if (one.depth >= row.lanes || one.end < view.from || one.start > view.from + view.length) continue;
    const left = Math.max(-2, x(one.start));
    const right = Math.min(width + 2, Math.max(left + 1, x(one.end) - 0.5));
    // Of many events within a pixel the longest is seen, of values all.
    const last = drawn[one.depth];
    if (!row.isCounter && last && left < last.left + 1 && one.length <= last.length) continue;
    drawn[one.depth] = { left, length: one.length };
    drawEvent(context, one, left, right, colours);
  }
}

function outline(context, one, view, width, colours) {
  const x = (ns) => ((ns - view.from) / view.length) * width;
  const left = Math.max(1, x(one.start) - 1);
  const right = Math.min(width - 1, Math.max(left + 4, x(one.end) + 1));
  if (right < 0 || left > width || one.depth >= one.row.lanes) return;
  context.strokeStyle = colours('focus');
  context.lineWidth = 2;
  context.strokeRect(left, one.row.top + ROW_HEAD + one.depth * LANE_HEIGHT, right - left,
    (one.row.isCounter ? COUNTER_HEIGHT : LANE_HEIGHT) - 1);
}

function drawRows(canvas, rows, view, chosen) {
  const { context, width, height } = fitCanvas(canvas);
  const known = new Map();
  const colours = (name) => {
    if (!known.has(name)) known.set(name, colour(name));
    return known.get(name);
  };
  context.font = TEXT_FONT;
  context.textBaseline = 'middle';
  drawAxis(context, view, width, height, colours);
  for (const row of rows) drawRow(context, row, view, width, colours);
  if (chosen) outline(context, chosen, view, width, colours);
}
