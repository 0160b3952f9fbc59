// Elements. Text from the profile is only ever a text node or an attribute's value.

function el(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

const byId = (id) => document.getElementById(id);

function positioned(element, left, width) {
  element.style.left = `${left * 100}%`;
  element.style.width = `${width * 100}%`;
  return element;
}

// A colour of the style, as it is in the colour scheme of now.
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// Makes a canvas as fine as the screen and empties it. Its context measures in CSS pixels.
function fitCanvas(canvas) {
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext('2d');
  context.scale(scale, scale);
  return { context, width, height };
}

// Draws at first, and again when the element's size or the colour scheme is another.
function whenLookChanges(element, draw) {
  new ResizeObserver(draw).observe(element);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
}

// The path before the last name, which gives way where there is little room, and the last name.
function pathAndName(name) {
  const last = name.lastIndexOf('::') + 2;
  if (last < 3 || last < name.lastIndexOf('>')) return [el('span', { class: 'path' }, name)];
  return [el('span', { class: 'path' }, name.slice(0, last)),
    el('span', { class: 'last' }, name.slice(last))];
}

// A row of buttons of which one is pressed.
function choice(label, options, chosen, choose) {
  const buttons = options.map(([key, text]) => el('button', {
    type: 'button', 'aria-pressed': String(key === chosen), 'data-key': key,
    onclick: () => {
      for (const button of buttons) {
        button.setAttribute('aria-pressed', String(button.dataset.key === key));
      }
      choose(key);
    },
  }, text));
  return el('div', { class: 'choice', role: 'group', 'aria-label': label }, buttons);
}

// A table of texts; the first column heads its row. A cell may be an element.
function smallTable(caption, headings, rows) {
  const cell = (content, at) => (at === 0
    ? el('th', { scope: 'row' }, content)
    : el('td', null, content ?? NONE));
  return el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption },
    el('table', { class: 'small' },
      el('caption', null, caption),
      el('thead', null, el('tr', null, headings.map((text) => el('th', { scope: 'col' }, text)))),
      el('tbody', null, rows.map((row) => el('tr', null, row.map(cell))))));
}

// A function's name that opens it.
function functionButton(at, text) {
  const name = text ?? functions[at].shown;
  return el('button', {
    type: 'button', class: 'link name', 'aria-label': name, onclick: () => openFunction(at),
  }, pathAndName(name));
}
