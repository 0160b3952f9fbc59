// One table: columns that sort, rows that open, a search that keeps the parents of what it finds.
//
// A view gives `rows()`: what to draw, each with its row in the data, level, name and children.

const ROWS_AT_ONCE = 150;
const collator = new Intl.Collator('en', { numeric: true });

class DataTable {
  // view: { key, title, table, isTree, roots(), open(item), canOpen(item) }
  constructor(view, report) {
    this.view = view;
    this.report = report;
    this.words = '';
    this.shown = ROWS_AT_ONCE;
    this.sortColumn = view.sortColumn;
    this.ascending = false;
    this.body = el('tbody');
    this.headings = [el('th', { scope: 'col' }, this.heading(-1, view.title))];
    view.table.columns.forEach((column, at) => {
      this.headings.push(el('th', { scope: 'col', class: 'number' },
        this.heading(at, column.heading)));
    });
    this.more = el('p', { class: 'more' });
    this.element = el('div', null,
      el('div', { class: 'scroll tall', role: 'region', 'aria-label': view.title, tabindex: '0' },
        el('table', { class: 'data', role: view.isTree ? 'treegrid' : null },
          el('caption', { class: 'hidden' }, view.title),
          el('thead', null, el('tr', null, this.headings)), this.body)),
      this.more);
    this.body.addEventListener('keydown', (event) => this.key(event));
    this.closed = new Set();
    this.closeSmall();
    this.draw();
  }

  heading(column, text) {
    return el('button', { type: 'button', onclick: () => this.sort(column) }, text,
      el('span', { class: 'arrow', 'aria-hidden': 'true' }));
  }

  // Of a large tree only paths with at least a hundredth of the time are open.
  closeSmall() {
    const { view } = this;
    if (!view.isTree || view.table.names.length <= ROWS_AT_ONCE) return;
    const values = view.table.columns[view.sortColumn]?.values ?? [];
    const all = view.items.filter((item) => item.level === 0)
      .reduce((sum, item) => sum + (values[item.row] ?? 0), 0);
    for (const item of view.items) {
      const isSmall = (values[item.row] ?? 0) < all / 100;
      if (item.children.length > 0 && (isSmall || item.level > 40)) this.closed.add(item);
    }
  }

  sort(column) {
    this.ascending = this.sortColumn === column ? !this.ascending : column === -1;
    this.sortColumn = column;
    this.draw();
  }

  search(words) {
    this.words = words.trim().toLowerCase();
    this.shown = ROWS_AT_ONCE;
    this.draw();
  }

  order(items) {
    const names = this.view.table.names;
    const values = this.view.table.columns[this.sortColumn]?.values;
    const sign = this.ascending ? 1 : -1;
    const byName = (a, b) => collator.compare(names[a.row], names[b.row]);
    const compare = (a, b) => {
      if (!values) return sign * byName(a, b);
      const [x, y] = [values[a.row], values[b.row]];
      // What has no value is last either way.
      if (x === null || y === null) return (x === null) - (y === null) || byName(a, b);
      const order = typeof x === 'string' ? collator.compare(x, y) : x - y;
      return sign * order || byName(a, b);
    };
    // What a function launched itself stands before what it called.
    return [...items].sort((a, b) => b.isActivity - a.isActivity || compare(a, b));
  }

  // The rows to draw, top down.
  rows() {
    const found = this.words && this.found();
    const rows = [];
    const open = [this.order(this.view.roots)];
    while (open.length > 0) {
      const level = open[open.length - 1];
      const item = level.shift();
      if (item === undefined) {
        open.pop();
        continue;
      }
      if (found && !found.has(item)) continue;
      rows.push(item);
      const isOpen = found ? true : !this.closed.has(item);
      if (item.children.length > 0 && isOpen) open.push(this.order(item.children));
    }
    return rows;
  }

  // The items that match, and those that they are in.
  found() {
    const found = new Set();
    this.matches = 0;
    for (const item of this.view.items) {
      if (!item.text.includes(this.words)) continue;
      this.matches += 1;
      for (let one = item; one && !found.has(one); one = one.parent) found.add(one);
    }
    return found;
  }

  draw() {
    const rows = this.rows();
    this.drawn = rows.slice(0, this.shown);
    const focused = this.body.contains(document.activeElement) ? this.current : null;
    if (!this.drawn.includes(this.current)) this.current = this.drawn[0];
    this.body.replaceChildren(...this.drawn.map((item) => this.row(item)));
    this.headings.forEach((heading, at) => {
      const isSorted = at - 1 === this.sortColumn;
      if (isSorted) heading.setAttribute('aria-sort', this.ascending ? 'ascending' : 'descending');
      else heading.removeAttribute('aria-sort');
    });
    this.more.replaceChildren();
    const left = rows.length - this.drawn.length;
    if (left > 0) {
      this.more.append(`${count(this.drawn.length)} of ${count(rows.length)} rows. `,
        el('button', {
          type: 'button',
          onclick: () => {
            const first = this.drawn.length;
            this.shown += ROWS_AT_ONCE * 4;
            this.draw();
            this.focus(this.drawn[first]);
          },
        }, `Show ${count(Math.min(left, ROWS_AT_ONCE * 4))} more`));
    }
    if (focused) this.focus(this.current);
    if (this.words) {
      const all = count(this.view.items.length);
      this.report(this.matches === 0 ? 'no row matches'
        : `${count(this.matches)} of ${all} rows match`);
    } else {
      this.report('');
    }
  }

  row(item) {
    const { table, isTree, open } = this.view;
    const isParent = item.children.length > 0;
    const isOpen = isParent && (this.words !== '' || !this.closed.has(item));
    const name = open && item.opens !== null
      ? el('button', {
        type: 'button', class: 'link name', tabindex: item === this.current ? '0' : '-1',
        'aria-label': table.names[item.row],
        onclick: () => { this.current = item; open(item); },
      }, this.marked(table.names[item.row]))
      : el('span', { class: 'name', tabindex: item === this.current ? '0' : '-1' },
        this.marked(table.names[item.row]));
    const twist = isParent
      ? el('button', {
        type: 'button', class: 'twist', tabindex: '-1',
        'aria-label': `${isOpen ? 'Close' : 'Open'} ${table.names[item.row]}`,
        onclick: () => this.toggle(item),
      }, isOpen ? '▾' : '▸')
      : el('span', { class: 'twist', 'aria-hidden': 'true' });
    const mark = table.marks[item.row];
    const first = el('span', { class: 'first-cell', title: table.names[item.row] },
      isTree ? twist : null,
      markElement(mark), name);
    first.style.setProperty('--level', Math.min(item.level, 12));
    const row = el('tr', {
      class: item.isActivity ? 'activity' : null,
      'aria-level': isTree ? item.level + 1 : null,
      'aria-expanded': isTree && isParent ? String(isOpen) : null,
    }, el('th', { scope: 'row' }, first), table.columns.map((column) => this.cell(column, item)));
    row.item = item;
    return row;
  }

  cell(column, item) {
    const value = column.values[item.row];
    if (value === null || value === undefined) return el('td', { class: 'none' }, NONE);
    const mark = column.marks[item.row];
    const suffix = column.suffixes[item.row];
    const cell = el('td', null,
      markElement(mark), digits(column, value),
      suffix ? el('span', { class: 'unit' }, ` ${suffix}`) : null);
    if (column.format === 'share' && !suffix) {
      cell.classList.add('share');
      cell.style.setProperty('--part', `${Math.min(100, value * 100)}%`);
    }
    return cell;
  }

  // A name with what was searched for marked.
  marked(name) {
    const at = this.words ? name.toLowerCase().indexOf(this.words) : -1;
    if (at < 0) return pathAndName(name);
    const end = at + this.words.length;
    return [el('span', { class: 'path' }, name.slice(0, at),
      el('mark', null, name.slice(at, end)), name.slice(end))];
  }

  toggle(item) {
    if (!this.closed.delete(item)) this.closed.add(item);
    this.current = item;
    this.draw();
    this.focus(item);
  }

  focus(item) {
    const at = this.drawn.indexOf(item);
    if (at < 0) return;
    this.body.querySelector('.name[tabindex="0"]')?.setAttribute('tabindex', '-1');
    this.current = item;
    const name = this.body.rows[at].querySelector('.name');
    name.setAttribute('tabindex', '0');
    name.focus();
  }

  key(event) {
    const at = this.drawn.indexOf(event.target.closest('tr')?.item);
    if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const item = this.drawn[at];
    const isOpen = item.children.length > 0 && !this.closed.has(item);
    const to = {
      ArrowDown: () => this.focus(this.drawn[at + 1]),
      ArrowUp: () => this.focus(this.drawn[at - 1]),
      Home: () => this.focus(this.drawn[0]),
      End: () => this.focus(this.drawn[this.drawn.length - 1]),
      ArrowRight: () => {
        if (item.children.length > 0 && !isOpen) this.toggle(item);
        else if (isOpen) this.focus(this.drawn[at + 1]);
      },
      ArrowLeft: () => (isOpen && !this.words ? this.toggle(item) : this.focus(item.parent)),
    }[event.key];
    if (!to) return;
    event.preventDefault();
    to();
  }
}
