// The source lines of kernels beside the samples in them.

const DOUBLE_TITLE = 'instructions of double precision';

// The lines with samples and those near them that have text, by file and number. Between texts
// that do not follow one another stands null.
function sourceRows({ lines }) {
  const { near, files } = profile.source;
  const byFile = new Map();
  for (const [file, line, samples, reason, double] of lines) {
    if (!byFile.has(file)) byFile.set(file, new Map());
    byFile.get(file).set(line, { line, samples, reason, double });
  }
  return [...byFile].map(([file, known]) => {
    const texts = files[file].lines;
    const hasText = Object.keys(texts).length > 0;
    for (const line of [...known.keys()]) {
      for (let at = line - near; at <= line + near; at += 1) {
        if (!known.has(at) && texts[at] !== undefined) known.set(at, { line: at, samples: 0 });
      }
    }
    const rows = [];
    for (const row of [...known.values()].sort((a, b) => a.line - b.line)) {
      const before = rows[rows.length - 1];
      if (hasText && before && before.line + 1 < row.line) rows.push(null);
      rows.push({ ...row, text: texts[row.line] });
    }
    return { name: files[file].name, hasText, rows };
  });
}

function sourceTable(kernel) {
  const files = sourceRows(kernel);
  const hasText = files.some((file) => file.hasText);
  const heads = ['Line', 'Samples(%)', hasText ? 'Source' : null, 'Most often'];
  const row = (one) => {
    if (!one) return el('tr', { class: 'gap' }, el('td', { colspan: hasText ? 4 : 3 }, '⋯'));
    const part = kernel.samples > 0 ? one.samples / kernel.samples : 0;
    const cell = el('td', { class: 'share' }, one.samples > 0 ? percent(part) : null);
    cell.style.setProperty('--part', `${Math.min(100, part * 100)}%`);
    const double = one.double
      ? el('span', { class: 'double', title: DOUBLE_TITLE }, one.double) : null;
    return el('tr', { class: one.samples > 0 || one.double ? null : 'near' },
      el('th', { scope: 'row' }, one.line), cell,
      hasText ? el('td', { class: 'text' }, el('code', null, one.text ?? '')) : null,
      el('td', { class: 'text' }, one.reason, one.reason && double ? ' ' : null, double));
  };
  return el('div', {
    class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `Source of ${kernel.name}`,
  }, el('table', { class: 'small source' },
    el('thead', null, el('tr', null,
      heads.filter(Boolean).map((text) => el('th', { scope: 'col' }, text)))),
    files.map(({ name, rows }) => el('tbody', null,
      el('tr', null, el('th', { scope: 'rowgroup', colspan: hasText ? 4 : 3 }, name)),
      rows.map(row)))));
}

// What the kernel's warps did in most samples.
function reasonsText({ samples, reasons }) {
  const shares = reasons.map(([words, part]) => `${words} ${percent(part / samples)} %`);
  return `Samples: ${shares.join(', ')}`;
}

// Of a kernel by its position, in the dialog.
function sourceOf(at) {
  const kernel = profile.source?.kernels.find((one) => one.kernel === at);
  if (!kernel) return null;
  return [el('h3', null, 'Where in its source'),
    kernel.samples > 0 ? el('p', { class: 'note' }, reasonsText(kernel)) : null,
    sourceTable(kernel)];
}

function drawSource() {
  if (!profile.source) return;
  const { kernels: all, files, omitted } = profile.source;
  const drawn = all.map((kernel, at) => {
    const body = el('div');
    const draw = () => {
      if (body.childElementCount > 0) return;
      body.append(kernel.samples > 0 ? el('p', null, reasonsText(kernel)) : '', sourceTable(kernel));
    };
    const number = kernel.samples > 0
      ? `${count(kernel.samples)} samples` : `lines with ${DOUBLE_TITLE}`;
    const details = el('details', { class: 'kernel-source', ontoggle: draw },
      el('summary', null, el('strong', null, kernel.name), ' ',
        el('span', { class: 'next' }, number)), body);
    if (at === 0) {
      details.open = true;
      draw();
    }
    return details;
  });
  const without = files.filter(({ lines }) => Object.keys(lines).length === 0);
  const names = [...new Set(without.map(({ name }) => name))].join(', ');
  byId('source').append(...drawn, el('p', { class: 'note' },
    'Shares are of the kernel’s samples; a line is that of the instruction at which the warp is: '
    + 'for memory, the first one that uses the value.'
    + (without.length < files.length
      ? ' Grey lines have no samples, or too few to be listed.' : '')
    + (omitted > 0 ? ` ${plural(omitted, 'kernel')} with fewer samples: see the full report.` : '')
    + (names ? ` Without text, because the file was not found or has changed: ${names}.` : '')));
}
