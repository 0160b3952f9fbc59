// Numbers as the text report writes them.

const NONE = '–';

function count(number) {
  return Math.round(number).toLocaleString('en-US');
}

function plural(number, one) {
  return `${count(number)} ${one}${number === 1 ? '' : 's'}`;
}

function decimal(value, digits) {
  const text = value.toFixed(digits);
  if (value > 0 && Number(text) === 0) {
    return digits === 0 ? '<1' : `<0.${'0'.repeat(digits - 1)}1`;
  }
  return text;
}

function percent(share) {
  const value = share * 100;
  if (!Number.isFinite(value) || value < 0) return NONE;
  if (value > 0 && value < 0.05) return '<0.1';
  return value.toFixed(1);
}

// Three significant digits, of which at most so many are after the decimal point.
function significant(value, most = 2) {
  if (value === 0) return '0';
  const scaled = digits => Math.round(value * 10 ** digits);
  let digits = 2 - Math.floor(Math.log10(value));
  // Held against the rounded value: 9.996 is 10.0.
  if (scaled(digits) >= 1000) digits -= 1;
  digits = Math.min(Math.max(digits, 0), most);
  if (digits === 0 && value >= 0.5) return count(value);
  return decimal(scaled(digits) / 10 ** digits || value, digits);
}

function duration(ns) {
  if (ns < 1000) return `${ns} ns`;
  if (Math.round(ns / 1e3) < 1000) return `${significant(ns / 1e3)} µs`;
  if (Math.round(ns / 1e6) < 1000) return `${significant(ns / 1e6)} ms`;
  if (Math.round(ns / 1e9) < 10000) return `${significant(ns / 1e9)} s`;
  return `${significant(ns / 3.6e12)} h`;
}

// A tick of an axis, a power of ten of ns.
function roundDuration(ns) {
  if (ns < 1e3) return `${ns} ns`;
  if (ns < 1e6) return `${ns / 1e3} µs`;
  if (ns < 1e9) return `${ns / 1e6} ms`;
  return `${count(ns / 1e9)} s`;
}

function bytes(number) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let unit = 0;
  let value = number;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return unit === 0 ? `${value} B` : `${significant(value)} ${units[unit]}`;
}

// The digits of a cell of a table, without its mark and suffix.
function digits(column, value) {
  switch (column.format) {
    case 'count': return count(value);
    case 'share': return percent(value);
    case 'text': return value;
    default: return significant(value / column.scale, column.digits);
  }
}
