// Draws the page.

function drawRemarks() {
  const into = byId('remarks');
  if (profile.remarks.length === 0) return;
  into.append(el('ul', { class: 'remarks' }, profile.remarks.map((line) => el('li', null, line))));
  into.append(el('details', null, el('summary', null, 'What the marks mean'),
    el('dl', { class: 'legend' }, Object.entries(MARKS).map(([mark, text]) =>
      el('div', null, el('dt', null, mark), el('dd', null, text))),
    el('div', null, el('dt', null, NONE), el('dd', null, 'there is no value')))));
  if (profile.commands.length > 0) {
    into.append(el('details', null, el('summary', null, 'Commands for a closer look'),
      profile.commands.map(({ what, line }) => [
        el('p', null, what), el('pre', { class: 'wrap' }, line)]).flat()));
  }
}

drawFacts();
drawBusy();
drawFindings();
byId('main').hidden = false;
drawTables();
drawPeaks();
drawSource();
drawFlame();
drawSteps();
drawDistribution();
drawRemarks();
// What has nothing to show is not there.
for (const id of ['peaks', 'source', 'flame', 'steps', 'distribution', 'remarks']) {
  if (byId(id).childElementCount === 0) byId(id).closest('section').hidden = true;
}
