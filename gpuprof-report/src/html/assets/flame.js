// The call tree as an icicle or a flame graph, of GPU or CPU time. Only frames of at least half a
// pixel are drawn, so that a tree of any size has few of them.

const FRAME_HEIGHT = 22;
const LEVELS_AT_ONCE = 48;
const CALLERS_AT_ONCE = 16;
// Pixels from which a frame has room for letters.
const NAMED_WIDTH = 26;

function frame(name, value, kind, parent) {
  const made = { name, value, kind, parent, children: [], layout: value };
  if (parent) parent.children.push(made);
  return made;
}

// One of a few classes of colour, the same wherever the function is.
function colourClass(text) {
  let hash = 0;
  for (const c of text) hash = (hash * 31 + c.codePointAt(0)) % 1009;
  return `f${hash % 4}`;
}

// All frames, parents before their children; the first is the whole.
function frames(kind) {
  const all = frame(kind === 'gpu' ? 'all GPU time' : 'all CPU time', 0, 'all', null);
  const made = [all];
  const times = durationColumn(tables.tree, 'Busy');
  const shares = tables.tree.columns.find(({ heading }) => /^(Busy|Span)\(%\)$/.test(heading));
  const share = (row) => (kind === 'gpu' ? shares?.values[row] ?? null : null);
  const ofNode = [];
  nodes.forEach((node, at) => {
    const parent = node.parent === null ? all : ofNode[node.parent];
    const value = kind === 'gpu' ? node.gpu_ns : node.cpu_ns;
    const own = frame(node.name, value, colourClass(node.name), parent);
    own.function = node.function;
    own.share = share(node.row);
    own.mark = kind === 'gpu' && !times ? gpuMark(tables.tree, node.row) : '';
    ofNode[at] = own;
    made.push(own);
    if (kind !== 'gpu' || !times) return;
    for (const { row, activity, isKernel } of node.activities) {
      const leaf = frame(tables.tree.names[row], times.values[row] ?? 0,
        isKernel ? 'kernel' : 'copy', own);
      if (isKernel) leaf.kernel = activity;
      leaf.share = share(row);
      made.push(leaf);
    }
  });
  if (kind === 'gpu' && unattributedRow !== null && times) {
    const outside = frame('(unattributed)', times.values[unattributedRow] ?? 0, 'copy', all);
    outside.share = share(unattributedRow);
    made.push(outside);
  }
  for (const one of [...made].reverse()) {
    one.children.sort((a, b) => b.layout - a.layout);
    const inside = one.children.reduce((sum, child) => sum + child.layout, 0);
    // Work that ran at the same time counts in each of its frames.
    one.layout = Math.max(one.value, inside);
    one.overlaps = one !== all && inside > one.value * 1.001;
  }
  all.value = all.layout;
  if (kind === 'cpu') for (const one of made) one.share = all.value > 0 ? one.value / all.value : null;
  return made;
}

class FlameGraph {
  constructor(into) {
    this.words = '';
    this.kind = nodes.some((node) => node.gpu_ns > 0) ? 'gpu' : 'cpu';
    this.isIcicle = true;
    this.graph = el('div', { class: 'frames', role: 'tree', 'aria-label': 'Call tree' });
    this.info = el('p', { class: 'frame-info' });
    this.note = el('p', { class: 'note' });
    const kinds = [['gpu', 'GPU time'], ['cpu', 'CPU time']]
      .filter(([kind]) => kind === 'cpu' || this.kind === 'gpu');
    this.out = el('button', { type: 'button', onclick: () => this.zoomOut() }, 'Zoom out');
    into.append(
      el('div', { class: 'bar' },
        choice('Time', kinds, this.kind, (kind) => this.choose(kind)),
        choice('Direction', [['icicle', 'Icicle'], ['flame', 'Flame']], 'icicle', (direction) => {
          this.isIcicle = direction === 'icicle';
          this.draw();
        }), this.out),
      this.graph, this.info, this.note,
      el('p', { class: 'note keys' }, 'Click or ', el('kbd', null, 'Enter'), ' zooms, ',
        el('kbd', null, 'Esc'), ' zooms out, arrow keys move, ', el('kbd', null, 'O'), ' opens.'));
    this.graph.addEventListener('keydown', (event) => this.key(event));
    this.graph.addEventListener('click', (event) => {
      const one = event.target.closest('.frame')?.frame;
      if (one) this.zoom(one === this.base && one.parent ? one.parent : one, one);
    });
    this.graph.addEventListener('mouseover', (event) => {
      const one = event.target.closest('.frame')?.frame;
      if (one) this.describe(one);
    });
    this.graph.addEventListener('focusin', (event) => {
      this.graph.querySelector('[tabindex="0"]')?.setAttribute('tabindex', '-1');
      event.target.setAttribute('tabindex', '0');
      this.current = event.target.frame;
      this.describe(this.current);
    });
    this.choose(this.kind);
    let width = this.graph.clientWidth;
    new ResizeObserver(() => {
      if (this.graph.clientWidth === width) return;
      width = this.graph.clientWidth;
      this.draw();
    }).observe(this.graph);
  }

  choose(kind) {
    this.kind = kind;
    this.frames = frames(kind);
    [this.base] = this.frames;
    this.current = this.base;
    this.draw();
  }

  text(one) {
    if (one.kind === 'all') return `${one.name}: ${duration(one.value)}, all outermost calls added up`;
    const gpu = profile.has_cupti ? 'the GPU’s busy time' : 'all GPU spans';
    const of = this.kind === 'gpu' ? gpu : 'all CPU time';
    const share = (one.share ?? null) === null ? '' : `, ${percent(one.share)} % of ${of}`;
    return `${one.kind === 'kernel' ? 'kernel ' : ''}${one.name}: `
      + `${one.mark ?? ''}${duration(one.value)}${share}`;
  }

  // Where the frames are: the callers of the zoomed one in full width, and below it all frames that
  // are wide enough, the largest first.
  layout(width) {
    const places = [];
    for (let one = this.base.parent; one && places.length < CALLERS_AT_ONCE; one = one.parent) {
      places.unshift({ one, left: 0, part: 1, isAbove: true });
    }
    places.forEach((place, level) => { place.level = level; });
    const first = places.length;
    const open = [{ one: this.base, level: first, left: 0, part: 1 }];
    let [narrow, deep] = [0, 0];
    while (open.length > 0) {
      const place = open.pop();
      if (place.level >= first + LEVELS_AT_ONCE) {
        deep += 1;
        continue;
      }
      places.push(place);
      const { one } = place;
      let { left } = place;
      const inside = [];
      for (const child of one.children) {
        const part = one.layout > 0 ? place.part * (child.layout / one.layout) : 0;
        if (part * width >= 0.5) inside.push({ one: child, level: place.level + 1, left, part });
        else if (child.layout > 0) narrow += 1;
        left += part;
      }
      open.push(...inside.reverse());
    }
    return { places, narrow, deep };
  }

  draw() {
    const width = this.graph.clientWidth || 800;
    const hadFocus = this.graph.contains(document.activeElement);
    this.hits = new Set(this.words
      ? this.frames.filter(({ name }) => name.toLowerCase().includes(this.words)) : []);
    const { places, narrow, deep } = this.layout(width);
    this.drawn = new Set(places.map(({ one }) => one));
    if (!this.drawn.has(this.current)) this.current = this.base;
    const levels = places.reduce((most, { level }) => Math.max(most, level + 1), 1);
    this.graph.style.height = `${levels * FRAME_HEIGHT}px`;
    this.graph.replaceChildren(...places.map((place) => this.element(place, width)));
    this.out.disabled = this.base.parent === null;
    this.describe(this.current);
    const overlaps = this.frames.some((one) => one.overlaps);
    this.note.textContent = [
      narrow > 0 ? `Not drawn: ${plural(narrow, 'frame')} narrower than half a pixel; zoom in.` : '',
      deep > 0 ? `Not drawn: frames deeper than ${LEVELS_AT_ONCE} levels; zoom in.` : '',
      overlaps ? 'Work that ran at the same time counts in each of its frames.' : '',
    ].filter(Boolean).join(' ');
    if (hadFocus) this.focus(this.current);
  }

  element({ one, level, left, part, isAbove }, width) {
    const match = this.hits.size === 0 ? '' : (this.hits.has(one) ? ' hit' : ' miss');
    const element = el('div', {
      class: `frame ${one.kind}${match}${isAbove ? ' above' : ''}`
        + (part * width < NAMED_WIDTH ? ' thin' : ''),
      role: 'treeitem', 'aria-level': level + 1, 'aria-label': this.text(one),
      tabindex: one === this.current ? '0' : '-1',
    }, part * width < NAMED_WIDTH ? '' : one.name);
    element.frame = one;
    positioned(element, left, part);
    element.style[this.isIcicle ? 'top' : 'bottom'] = `${level * FRAME_HEIGHT}px`;
    return element;
  }

  describe(one) {
    const opens = one.kernel !== undefined || (one.function ?? null) !== null;
    this.info.replaceChildren(this.text(one), ' ',
      opens ? el('button', { type: 'button', class: 'link', onclick: () => this.open(one) },
        'Open') : '');
  }

  open(one) {
    if (one.kernel !== undefined) openKernel(one.kernel);
    else if ((one.function ?? null) !== null) openFunction(one.function);
  }

  zoom(one, focused) {
    this.base = one;
    this.current = focused ?? one;
    this.draw();
    this.focus(this.current);
  }

  zoomOut() {
    if (this.base.parent) this.zoom(this.base.parent, this.base);
  }

  focus(one) {
    [...this.graph.children].find((child) => child.frame === one)?.focus();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const one = this.current;
    const isDrawn = (other) => this.drawn.has(other);
    const child = one.children.find(isDrawn);
    const siblings = (one.parent?.children ?? [one]).filter(isDrawn);
    const at = siblings.indexOf(one);
    const down = () => child && this.focus(child);
    const up = () => one.parent && this.focus(one.parent);
    const to = {
      ArrowDown: this.isIcicle ? down : up,
      ArrowUp: this.isIcicle ? up : down,
      ArrowRight: () => siblings[at + 1] && this.focus(siblings[at + 1]),
      ArrowLeft: () => siblings[at - 1] && this.focus(siblings[at - 1]),
      Home: () => this.focus(this.base),
      Enter: () => this.zoom(one),
      ' ': () => this.zoom(one),
      Escape: () => this.zoomOut(),
      o: () => this.open(one),
      O: () => this.open(one),
    }[event.key];
    if (!to) return;
    event.preventDefault();
    to();
  }

  search(words) {
    this.words = words.trim().toLowerCase();
    this.draw();
  }
}

let flameGraph = null;

function drawFlame() {
  if (nodes.length > 0) flameGraph = new FlameGraph(byId('flame'));
}

function flameSearch(words) {
  flameGraph?.search(words);
}
