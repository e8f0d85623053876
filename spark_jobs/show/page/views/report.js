'use strict';
(() => {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  // By scheme, the colors in the place of those that spark_jobs/show/page/style.py names INK and the like.
  const schemes = JSON.parse(document.currentScript.dataset.schemes);
  const pages = [...document.querySelectorAll('.page')], index = document.getElementById('index');
  // What has charts: the timeline of incidents, a group, or a group on the page of an incident.
  const missing = document.getElementById('missing'), boxes = [...document.querySelectorAll('[data-of]')];
  const drawn = new Map();

  async function chartsOf(id) {
    const packed = Uint8Array.from(atob(document.getElementById(id + '-charts').dataset.gzip), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Response(stream).text();
  }

  async function draw(box, scheme) {
    if (drawn.get(box)?.scheme === scheme) return drawn.get(box).ready;
    const state = {scheme};
    drawn.set(box, state);
    return state.ready = drawNow(box, state);
  }

  async function drawNow(box, state) {
    let text = await chartsOf(box.dataset.of);
    for (const [name, color] of Object.entries(schemes[state.scheme])) text = text.replaceAll(name, color);
    const charts = JSON.parse(text);
    if (box.dataset.topics && !box.querySelector('.chart')) places(box);
    charts.item.roots = Object.fromEntries(charts.item.root_ids.map((id) => [id, placeOf(box, id)]));
    await Bokeh.embed.embed_items(charts.docs, [charts.item]);
    state.document = Bokeh.documents.findLast((one) => one.roots().some((root) => root.id in charts.item.roots));
    state.time = state.document.get_model_by_name('time');
    if (innerWidth < 700) narrow(state.document);
    allocations(box, state);
    if (box.dataset.start) mark(box, Number(box.dataset.start), Number(box.dataset.end));
    box.dataset.drawn = state.scheme;
  }

  // On the page of an incident a group has its members, and the topics that the incident is about.
  function places(box) {
    const topics = JSON.parse(box.dataset.topics);
    let last;
    for (const one of document.getElementById(box.dataset.of).querySelectorAll('.chart')) {
      const topic = one.dataset.topic;
      if (topic !== undefined && topics.length && !topics.includes(topic)) continue;
      if (topic !== last) box.append(Object.assign(document.createElement('h4'), {textContent: topic}));
      last = topic;
      box.append(one.cloneNode(false));
    }
  }

  function placeOf(box, root) {
    let place = [...box.querySelectorAll('.chart')].find((one) => one.dataset.root === root);
    if (!place) {
      place = Object.assign(document.createElement('div'), {className: 'chart unused'});
      place.dataset.root = root;
      box.append(place);
    }
    place.replaceChildren();
    return place;
  }

  // No room for the headlines of incidents, and more of the width for the word behind what is open.
  function narrow(charts) {
    for (const chart of charts.roots()) {
      chart.min_border_left = 0;
      for (const one of chart.renderers) if (one.name === 'labels') one.visible = false;
      if (chart.name !== 'Incidents') continue;
      const {start, end} = chart.x_range;
      chart.x_range.setv({bounds: [start, end + (end - start) / 5], end: end + (end - start) / 5});
    }
  }

  // What of the page that is shown has charts, and is not folded up.
  function shown() {
    return boxes.filter((box) => !box.closest('.page').hidden && (box.tagName !== 'DETAILS' || box.open));
  }

  function drawShown() {
    return Promise.all(shown().map((box) => draw(box, dark.matches ? 'dark' : 'light')));
  }

  // `#group-3`, a place on a page such as `#fleet`, or `#group-3/START-END`: a group, and a time to zoom to.
  async function route() {
    const [id, time] = decodeURIComponent(location.hash.slice(1)).split('/');
    const place = document.getElementById(id), page = place?.closest('.page') || index;
    for (const one of pages) one.hidden = one !== page;
    if (missing) missing.hidden = !id || Boolean(place);
    if (place?.tagName === 'DETAILS') place.open = true;
    scrollTo(0, 0);
    await drawShown();
    if (place === page) scrollTo(0, 0);
    else place?.scrollIntoView();
    if (place && time) {
      mark(place, ...time.split('-').map(Number));
      place.querySelector('nav.time')?.scrollIntoView();
    }
  }

  function show(box, start, end) {
    const {time} = drawn.get(box) || {};
    if (!time) return;
    const [first, last] = time.bounds;
    const length = Math.min(end - start, last - first);
    const from = Math.max(first, Math.min(start, last - length));
    time.setv({start: from, end: from + length});
  }

  function move(box, how) {
    const {time} = drawn.get(box) || {};
    if (!time) return;
    const length = time.end - time.start, middle = (time.start + time.end) / 2;
    if (how === 'left') show(box, time.start - length / 4, time.end - length / 4);
    if (how === 'right') show(box, time.start + length / 4, time.end + length / 4);
    if (how === 'in') show(box, middle - length / 4, middle + length / 4);
    if (how === 'out') show(box, middle - length, middle + length);
    if (how === 'all') show(box, ...time.bounds);
  }

  function mark(box, start, end) {
    const {document: charts} = drawn.get(box) || {};
    if (!charts) return;
    for (const root of charts.roots()) {
      for (const one of root.center.filter((model) => model.name === 'mark')) one.setv({left: start, right: end, visible: true});
    }
    const around = Math.max((end - start) / 4, 5000);
    show(box, start - around, end + around);
  }

  // The owners of a topic's queues just before and at a moment, from the spans of its timeline.
  function allocations(box, state) {
    for (const table of box.querySelectorAll('details.allocation')) {
      const chart = state.document.get_model_by_id(table.dataset.charts);
      const spans = chart.renderers.find((one) => one.name === 'spans').data_source.data;
      const choice = table.querySelector('select');
      choice.onchange = () => fill(table.querySelector('tbody'), spans, Number(choice.value));
      choice.onchange();
    }
  }

  function fill(body, spans, moment) {
    const rows = new Map();
    const owners = (place) => spans.owner[place] || spans.state[place] + (spans.why[place] ? ' (' + spans.why[place] + ')' : '');
    for (let place = 0; place < spans.left.length; place++) {
      const before = spans.left[place] < moment && moment <= spans.right[place];
      const after = spans.left[place] <= moment && moment < spans.right[place];
      if (!before && !after) continue;
      const row = rows.get(spans.y[place]) || {queue: spans.queue[place]};
      if (before) row.before = owners(place);
      if (after) row.after = owners(place);
      rows.set(spans.y[place], row);
    }
    body.replaceChildren(...[...rows].sort(([a], [b]) => a - b).map(([, row]) => {
      const line = document.createElement('tr');
      for (const text of [row.queue, row.before || '–', row.after || '–']) {
        line.append(Object.assign(document.createElement('td'), {textContent: text}));
      }
      if (row.before !== row.after) line.style.fontWeight = 'bold';
      return line;
    }));
  }

  const input = document.getElementById('filter'), rows = [...document.querySelectorAll('.fleet tbody tr')];
  function filter() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      row.hidden = !words.every((word) => row.dataset.search.includes(word));
      count += !row.hidden;
    }
    document.getElementById('shown').textContent = words.length ? count + ' of ' + rows.length + ' groups' : '';
  }

  // A heading of the groups or incidents sorts them: the highest number, worst severity or first name at the top, then
  // the other way round. Unknown stays at the end.
  const units = {d: 86400, h: 3600, min: 60, s: 1}, severities = ['fine', 'INFO', 'WARN', 'ERROR'];
  function sortKey(row, column) {
    const cell = row.cells[column], text = cell.firstChild?.textContent.trim().toLowerCase() || null;
    if (cell.querySelector('.severity')) return severities.findIndex((one) => one.toLowerCase() === text);
    if (cell.className !== 'number') return text;
    const parts = [...(text || '').matchAll(/([\d,.]+)\s*([a-z]*)/g)];
    return parts.length ? parts.reduce((sum, [, number, unit]) => sum + Number(number.replaceAll(',', '')) * (units[unit] || 1), 0) : null;
  }

  function sort(heading) {
    const body = heading.closest('table').tBodies[0], column = heading.cellIndex;
    const sorted = [...body.rows].map((row) => [sortKey(row, column), row]);
    const isText = typeof sorted.find(([key]) => key !== null)?.[0] === 'string';
    const order = heading.ariaSort === 'descending' || (isText && !heading.ariaSort) ? 'ascending' : 'descending';
    const sign = order === 'ascending' ? 1 : -1;
    sorted.sort(([a], [b]) => (a === null) - (b === null) || sign * ((a > b) - (a < b)));
    for (const one of heading.parentNode.cells) one.ariaSort = one === heading ? order : null;
    body.append(...sorted.map(([, row]) => row));
  }

  for (const heading of document.querySelectorAll('.fleet th:not([data-unsorted]), .incidents th')) {
    const button = Object.assign(document.createElement('button'), {type: 'button', className: 'sort'});
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener('click', () => sort(heading));
  }

  const keys = {ArrowLeft: 'left', ArrowRight: 'right', '+': 'in', '-': 'out', '0': 'all'};
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|SELECT/.test(event.target.tagName)) return;
    if (event.key === 'Escape') location.hash = '';
    const found = shown();
    if (!(event.key in keys) || !found.length) return;
    for (const box of found) move(box, keys[event.key]);
    event.preventDefault();
  });
  document.addEventListener('click', (event) => {
    const button = event.target.closest('button');
    if (!button) return;
    if (button.dataset.time) for (const box of shown()) move(box, button.dataset.time);
    if (button.className === 'mark') {
      const box = button.closest('[data-of]');
      mark(box, Number(button.dataset.start), Number(button.dataset.end));
      box.querySelector('nav.time').scrollIntoView();
    }
  });
  for (const box of boxes) if (box.tagName === 'DETAILS') box.addEventListener('toggle', drawShown);
  input?.addEventListener('input', filter);
  addEventListener('hashchange', route);
  dark.addEventListener('change', drawShown);
  route();
})();
