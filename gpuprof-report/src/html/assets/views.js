// What the tables show, the tabs that choose among them, and the search.

const MARKS = {
  '∅': 'inherits its stream, and launched no kernel, copy or memset',
  '?': 'may be host time: the stream is inherited, and in most calls the GPU may have done nothing',
  '!': 'average GPU span under ten times the event overhead: partly the measuring itself',
  '~': 'an estimate, scaled up from a sample; busy times are never estimates',
  '≥': 'only a part of the calls could be timed',
  '≤': 'at most this: calls overlapped on a stream, and some of them were not timed',
  '÷': 'has an equal part of the time in which several threads or tasks shared a stream',
  '≈': 'other functions, kernels or copies ran in the same samples of the hardware counters, which '
    + 'are divided in proportion to the time of each',
  'Σ': 'no stream of its own: the sum of the GPU spans nested in it',
};

function markTitle(mark) {
  return [...mark].map((one) => MARKS[one]).filter(Boolean).join('; ');
}

function markElement(mark) {
  return mark ? [el('abbr', { class: 'mark', title: markTitle(mark) }, mark)] : [];
}

function item(row, parent, opens, text, isActivity) {
  const made = {
    row, parent, opens, text: text.toLowerCase(), isActivity: isActivity ? 1 : 0,
    level: parent ? parent.level + 1 : 0, children: [],
  };
  if (parent) parent.children.push(made);
  return made;
}

const functionText = (one) => `${one.shown} ${one.module} ${one.file}`;

// The call tree. Parents stand before their children.
function treeView() {
  const items = [];
  const ofNode = [];
  nodes.forEach((node, at) => {
    const parent = node.parent === null ? null : ofNode[node.parent];
    const one = node.function === null ? null : functions[node.function];
    const made = item(node.row, parent, one ? { function: node.function } : null,
      one ? `${node.name} ${functionText(one)}` : node.name, false);
    ofNode[at] = made;
    items.push(made);
    for (const { row, activity } of node.activities) {
      items.push(item(row, made, opensActivity(activity), tables.tree.names[row], true));
    }
  });
  if (unattributedRow !== null) {
    items.push(item(unattributedRow, null, null, tables.tree.names[unattributedRow], false));
  }
  return {
    key: 'tree', name: 'Call tree', table: tables.tree, isTree: true, items,
    title: profile.has_cupti ? 'Function / kernel' : 'Function',
    open: openItem,
  };
}

const opensActivity = (activity) => (activity < kernels.length ? { kernel: activity } : null);

function openItem({ opens }) {
  if (opens.function !== undefined) openFunction(opens.function);
  else openKernel(opens.kernel);
}

function flatView(key, name, title, table, opens, text) {
  const items = table.names.map((shown, row) => item(row, null, opens(row), text(row, shown), false));
  return { key, name, title, table, items, isTree: false, open: openItem };
}

function allViews() {
  const ofRow = (row) => functions[tables.functions.rows[row]];
  const views = [
    treeView(),
    flatView('functions', 'Functions', 'Function, all paths', tables.functions,
      (row) => ({ function: tables.functions.rows[row] }), (row) => functionText(ofRow(row))),
    flatView('activities', 'Kernels and copies', 'Kernel / copy', tables.activities, opensActivity,
      (row, shown) => `${shown} ${kernels[row]?.full_name ?? ''}`),
    flatView('api', 'API calls', 'API call', tables.api, () => null, (row, shown) => shown),
    flatView('launch-lines', 'Launched from', 'Source line · kernel', tables.launch_lines, () => null,
      (row, shown) => shown),
    flatView('memory', 'Memory', 'Function', tables.memory, () => null, (row, shown) => shown),
  ];
  for (const view of views) {
    view.roots = view.items.filter((one) => one.parent === null);
    // Sorted as the text report is: by the time that it is about.
    const order = view.key === 'functions'
      ? ['Span self(', 'CPU self('] : ['Busy(', 'Span(', 'Total(', 'CPU(', 'Allocated(', 'Sampled time('];
    const headings = view.table.columns.map((column) => column.heading);
    const of = (start) => headings.findIndex((text) => text.startsWith(start) && !text.endsWith('(%)'));
    view.sortColumn = order.map(of).find((at) => at >= 0) ?? -1;
  }
  return views.filter((view) => view.items.length > 0);
}

function drawTables() {
  const views = allViews();
  const [tabs, panel, search] = [byId('tabs'), byId('table'), byId('search')];
  const found = byId('found');
  const made = new Map();
  let chosen = null;
  const show = (view) => {
    chosen = view;
    for (const tab of tabs.children) {
      const isChosen = tab.id === `tab-${view.key}`;
      tab.setAttribute('aria-selected', String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
    }
    panel.setAttribute('aria-labelledby', `tab-${view.key}`);
    if (!made.has(view)) made.set(view, new DataTable(view, (text) => { found.textContent = text; }));
    panel.replaceChildren(made.get(view).element);
    made.get(view).search(search.value);
  };
  tabs.append(...views.map((view) => el('button', {
    type: 'button', role: 'tab', id: `tab-${view.key}`, 'aria-controls': 'table',
    onclick: () => show(view),
  }, view.name, ' ', el('span', { class: 'count' }, count(view.items.length)))));
  tabs.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = (views.indexOf(chosen) + step + views.length) % views.length;
    show(views[at]);
    tabs.children[at].focus();
  });
  let waiting = 0;
  search.addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      made.get(chosen)?.search(search.value);
      flameSearch(search.value);
    }, 60);
  });
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target.closest?.('input, dialog');
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    search.focus();
  });
  if (views.length > 0) show(views[0]);
  else {
    search.closest('.bar').hidden = true;
    panel.append(el('p', null, 'No annotated function was called.'));
  }
}
