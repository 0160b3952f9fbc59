// The first screen: what ran, how busy the GPU was, and what to do first.

function drawFacts() {
  const facts = [
    ['Device', profile.devices.join(', ') || (profile.simulated ? '' : 'none')],
    ['Driver', profile.driver && `CUDA ${profile.driver}`],
    ['Wall time', duration(profile.wall_ns)],
    ['Measured from', profile.started_at.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC')],
    ['Rank', profile.rank === undefined ? '' : String(profile.rank)],
    ['Host', profile.host],
  ].filter(([, value]) => value);
  byId('facts').append(...facts.map(([name, value]) =>
    el('div', null, el('dt', null, name), el('dd', null, value))));
  if (profile.simulated) {
    byId('simulated').append(el('strong', null, 'simulated device'),
      ': GPU times are modelled, not measured; CPU times include the simulation');
    byId('simulated').hidden = false;
  }
}

// The parts of the wall time of a device, longest kinds of work first.
function busyParts(busy) {
  const rest = (parts) => Math.max(0, profile.wall_ns - parts.reduce((sum, [, ns]) => sum + ns, 0));
  if (busy.kernel_ns === undefined) {
    const parts = [[profile.has_cupti ? 'busy' : 'GPU spans', busy.busy_ns, 'kernels']];
    return [...parts, ['no GPU span open', rest(parts), 'ends']];
  }
  const parts = [
    ['kernels', busy.kernel_ns, 'kernels'],
    ['only copies and memsets', busy.copy_only_ns, 'copies'],
    ['idle: launch under way', busy.idle_launch_ns, 'launch'],
    ['idle: nothing launched', busy.idle_host_ns, 'host'],
    ['idle: launched work waiting', busy.idle_queued_ns, 'queued'],
  ];
  return [...parts, ['before and after its work', rest(parts), 'ends']];
}

function busyBar(busy, isOnly) {
  const parts = busyParts(busy).filter(([, ns]) => ns > 0);
  const all = parts.reduce((sum, [, ns]) => sum + ns, 0) || 1;
  const text = ([name, ns]) => `${name} ${duration(ns)} (${percent(ns / profile.wall_ns)} %)`;
  const label = `GPU ${busy.device}: ${parts.map(text).join(', ')}`;
  let left = 0;
  const segments = parts.map((part) => {
    const width = part[1] / all;
    const segment = positioned(el('span', { class: `part ${part[2]}`, title: text(part) }),
      left, width);
    left += width;
    return segment;
  });
  const key = el('ul', { class: 'key' }, parts.map(([name, ns, kind]) => el('li', null,
    el('span', { class: `swatch part ${kind}`, 'aria-hidden': 'true' }),
    el('span', null, name),
    el('span', { class: 'number' }, duration(ns)),
    el('span', { class: 'number' }, `${percent(ns / profile.wall_ns)} %`))));
  return el('div', { class: 'device' },
    isOnly ? null : el('h3', null, `GPU ${busy.device}`),
    el('div', { class: 'stack', role: 'img', 'aria-label': label }, segments), key);
}

function drawBusy() {
  const into = byId('busy');
  if (profile.gpu_time) into.append(el('p', { class: 'headline' }, profile.gpu_time));
  else into.append(el('p', { class: 'headline' }, 'no GPU time'));
  const listed = profile.busy.slice(0, 8);
  into.append(...listed.map((busy) => busyBar(busy, profile.busy.length === 1)));
  if (profile.busy.length > listed.length) {
    into.append(el('p', { class: 'note' }, `${plural(profile.busy.length - listed.length, 'GPU')} more`));
  }
  const work = profile.header.filter((line) => /^(GPU work:|Memory:)/.test(line));
  into.append(...work.map((line) => el('p', { class: 'note' }, line)));
  if (!profile.has_cupti && profile.gpu_time) {
    into.append(el('p', { class: 'note' }, 'A GPU span is the time on the stream from a '
      + 'function’s start to its end, idle time included.'));
  }
}

const FIRST_FINDINGS = 3;

function finding(one, at) {
  const gain = one.gain_ns > 0
    ? el('p', { class: 'gain' }, el('strong', null, duration(one.gain_ns)),
      el('span', null, ' saved at most'))
    : el('p', { class: 'gain' }, el('span', null, 'about measuring'));
  const bar = positioned(el('span', { class: 'gainbar', 'aria-hidden': 'true' }), 0,
    Math.min(1, one.gain_ns / profile.wall_ns));
  const name = one.function === undefined
    ? el('strong', null, one.name ?? 'the program')
    : functionButton(one.function, one.name);
  return el('li', { class: 'finding', hidden: at >= FIRST_FINDINGS },
    el('div', { class: 'what' }, name, gain, el('span', { class: 'track' }, bar)),
    el('p', null, one.evidence),
    el('p', { class: 'advice' }, one.advice));
}

function drawFindings() {
  const into = byId('findings');
  if (!profile.has_cupti) {
    if (tables.functions.names.length === 0) {
      into.append(el('p', null, 'Nothing: no annotated function was called.'));
      return;
    }
    if (profile.is_cupti_unavailable) {
      into.append(el('p', null, 'CUPTI did not start, so there are GPU spans alone.'));
      return;
    }
    into.append(el('p', null, 'Without CUPTI there are GPU spans alone. Run once more with ',
      el('code', null, 'GPUPROF_CUPTI=on'),
      ': it shows busy times, kernels, and what to change.'));
    return;
  }
  if (profile.findings.length === 0) {
    into.append(el('p', null, 'No rule found anything to change.'));
    return;
  }
  const list = el('ol', { class: 'findings' }, profile.findings.map(finding));
  into.append(list);
  const more = profile.findings.length - FIRST_FINDINGS;
  if (more > 0) {
    into.append(el('button', {
      type: 'button', class: 'more', 'aria-expanded': 'false',
      onclick: (event) => {
        for (const item of list.children) item.hidden = false;
        list.children[FIRST_FINDINGS].tabIndex = -1;
        list.children[FIRST_FINDINGS].focus();
        event.target.remove();
      },
    }, `Show ${more} more`));
  }
  if (profile.findings.length > 1) into.append(el('p', { class: 'note' }, 'Savings may overlap.'));
}
