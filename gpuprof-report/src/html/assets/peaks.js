// How close kernels came to the peaks of the device's units, by hardware counters.

const unitText = ([unit, share]) => `${unit} ${percent(share)} %`;

// The nearest peak limits a kernel if it is near; else its threads wait.
const isNear = ([[, nearest]]) => nearest >= profile.peaks.bound_share;

// How long the bar of a share is; a sampled mean can be above the peak by a little.
const barOf = (share) => Math.min(1, share);

// Below it the line of a unit only crowds the others.
const FAR_FROM_PEAK = 0.02;

// The limit with the share of its peak, and the next ones.
function limitText({ mark, shares }) {
  const bound = isNear(shares) ? unitText(shares[0]) : 'latency';
  const next = isNear(shares) ? shares.slice(1, 3) : shares.slice(0, 2);
  return [...markElement(mark), el('strong', null, bound), ' ',
    el('span', { class: 'next' }, next.map(unitText).join(', '))];
}

// One bar up to the nearest peak, with a line at the share of each other unit.
function nearestBar({ shares }, name) {
  const [nearest, ...others] = shares;
  const label = `${name}: ${shares.map(unitText).join(', ')} of the peak`;
  return el('div', { class: 'peak-bar', role: 'img', 'aria-label': label },
    positioned(el('span', { class: 'threshold' }), profile.peaks.bound_share, 0),
    positioned(el('span', {
      class: `part ${isNear(shares) ? 'kernels' : 'waits'}`, title: unitText(nearest),
    }), 0, barOf(nearest[1])),
    others.filter(([, share]) => share >= FAR_FROM_PEAK).map((other) =>
      positioned(el('span', { class: 'other', title: unitText(other) }), barOf(other[1]), 0)));
}

// A thin bar for each unit, the nearest peak first.
function peakFigure(peaks, caption) {
  if (!peaks) return null;
  const rows = peaks.shares.map(([unit, share], at) => {
    const isBound = at === 0 && isNear(peaks.shares);
    return el('li', { class: isBound ? 'bound' : null },
      el('span', null, unit),
      el('span', { class: 'track', 'aria-hidden': 'true' },
        positioned(el('span', { class: 'gainbar' }), 0, barOf(share))),
      el('span', { class: 'number' }, ...markElement(peaks.mark), `${percent(share)} %`));
  });
  const far = 'No peak is near: the threads wait (latency), or a unit that is not sampled limits '
    + 'them.';
  return el('figure', { class: 'peaks' }, el('figcaption', null, caption), el('ul', null, rows),
    isNear(peaks.shares) ? null : el('p', { class: 'note' }, far));
}

const PEAKS_AT_ONCE = 12;

function drawPeaks() {
  const total = durationColumn(tables.activities, 'Total');
  const all = Object.entries(profile.peaks?.kernels ?? {})
    .map(([at, peaks]) => ({ at: Number(at), peaks, ns: total?.values[at] ?? 0 }))
    .sort((a, b) => b.ns - a.ns);
  if (all.length === 0) return;
  const row = ({ at, peaks, ns }) => {
    const name = tables.activities.names[at];
    return el('div', { class: 'peak-row', role: 'listitem' },
      el('span', { class: 'first-cell', title: name }, el('button', {
        type: 'button', class: 'link name', 'aria-label': name, onclick: () => openKernel(at),
      }, pathAndName(name))),
      el('span', { class: 'number' }, duration(ns)),
      nearestBar(peaks, name), el('span', { class: 'limit' }, limitText(peaks)));
  };
  const list = el('div', { role: 'list' });
  const more = el('p', { class: 'more' });
  const show = (most) => {
    list.replaceChildren(...all.slice(0, most).map(row));
    more.replaceChildren();
    if (all.length > most) {
      more.append(`${most} of ${count(all.length)} sampled kernels, those with the most time. `,
        el('button', { type: 'button', onclick: () => show(most + PEAKS_AT_ONCE * 4) },
          'Show more'));
    }
  };
  const ticks = [0, profile.peaks.bound_share, 1];
  byId('peaks').append(
    el('div', { class: 'peak-row head', 'aria-hidden': 'true' },
      el('span', null, 'Kernel'), el('span', { class: 'number' }, 'Total'),
      el('div', { class: 'axis' }, ticks.map((share) =>
        positioned(el('span', null, `${share * 100} %`), share, 0))),
      el('span', null, 'Bound')),
    list, more, el('p', { class: 'note' },
      'A bar is the share of the nearest peak; thin lines are other units. From '
      + `${profile.peaks.bound_share * 100} % on the unit limits the kernel. A name opens the list.`));
  show(PEAKS_AT_ONCE);
}
