'use strict';
(() => {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  // The colours that spark_jobs/report/colours.py names INK, GRID and PAPER.
  const schemes = {light: ['#1b1b1b', '#d5d5d5', '#ffffff'], dark: ['#ececec', '#4a4f57', '#16181c']};
  const groups = [...document.querySelectorAll('article.group')];
  const fleet = document.getElementById('fleet');
  const drawn = new Map();

  async function chartsOf(id) {
    const packed = Uint8Array.from(atob(document.getElementById(id + '-charts').dataset.gzip), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Response(stream).text();
  }

  async function draw(group, scheme) {
    if (drawn.get(group)?.scheme === scheme) return;
    drawn.set(group, {scheme});
    let text = await chartsOf(group.id);
    ['#010101', '#020202', '#030303'].forEach((one, place) => { text = text.replaceAll(one, schemes[scheme][place]); });
    const charts = JSON.parse(text);
    const roots = {};
    for (const place of group.querySelectorAll('.chart')) {
      place.replaceChildren();
      roots[place.dataset.root] = place;
    }
    charts.item.roots = roots;
    await Bokeh.embed.embed_items(charts.docs, [charts.item]);
    const found = Bokeh.documents.find((one) => one.roots().some((root) => root.id in roots));
    drawn.set(group, {scheme, document: found, time: found.get_model_by_name('time')});
    allocations(group);
    group.dataset.drawn = scheme;
  }

  function shown() { return groups.find((group) => !group.hidden); }

  function route() {
    const wanted = decodeURIComponent(location.hash.slice(1));
    const group = groups.find((one) => one.id === wanted) || (fleet.dataset.single ? groups[0] : null);
    for (const one of groups) one.hidden = one !== group;
    fleet.hidden = Boolean(group);
    if (group) draw(group, dark.matches ? 'dark' : 'light');
    scrollTo(0, 0);
  }

  function show(group, start, end) {
    const {time} = drawn.get(group) || {};
    if (!time) return;
    const [first, last] = time.bounds;
    const length = Math.min(end - start, last - first);
    const from = Math.max(first, Math.min(start, last - length));
    time.setv({start: from, end: from + length});
  }

  function move(group, how) {
    const {time} = drawn.get(group) || {};
    if (!time) return;
    const length = time.end - time.start, middle = (time.start + time.end) / 2;
    if (how === 'left') show(group, time.start - length / 4, time.end - length / 4);
    if (how === 'right') show(group, time.start + length / 4, time.end + length / 4);
    if (how === 'in') show(group, middle - length / 4, middle + length / 4);
    if (how === 'out') show(group, middle - length, middle + length);
    if (how === 'all') show(group, ...time.bounds);
  }

  function mark(group, start, end) {
    const {document: charts} = drawn.get(group);
    for (const root of charts.roots()) {
      for (const one of root.center.filter((model) => model.name === 'mark')) one.setv({left: start, right: end, visible: true});
    }
    const around = Math.max((end - start) / 4, 5000);
    show(group, start - around, end + around);
    group.querySelector('nav.time').scrollIntoView();
  }

  // The owners of a topic's queues just before and at a moment, from the spans of its timeline.
  function allocations(group) {
    for (const table of group.querySelectorAll('details.allocation')) {
      const chart = drawn.get(group).document.get_model_by_id(table.dataset.charts);
      const spans = chart.renderers.find((one) => one.name === 'spans').data_source.data;
      const choice = table.querySelector('select');
      choice.onchange = () => fill(table.querySelector('tbody'), spans, Number(choice.value));
      choice.onchange();
    }
  }

  function fill(body, spans, moment) {
    const rows = new Map();
    const told = (place) => spans.owner[place] || spans.state[place] + (spans.why[place] ? ' (' + spans.why[place] + ')' : '');
    for (let place = 0; place < spans.left.length; place++) {
      const before = spans.left[place] < moment && moment <= spans.right[place];
      const after = spans.left[place] <= moment && moment < spans.right[place];
      if (!before && !after) continue;
      const row = rows.get(spans.y[place]) || {queue: spans.queue[place]};
      if (before) row.before = told(place);
      if (after) row.after = told(place);
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

  const box = document.getElementById('filter'), rows = [...document.querySelectorAll('.fleet tbody tr')];
  function filter() {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      row.hidden = !words.every((word) => row.dataset.search.includes(word));
      count += !row.hidden;
    }
    document.getElementById('shown').textContent = words.length ? count + ' of ' + rows.length + ' groups' : '';
  }

  const keys = {ArrowLeft: 'left', ArrowRight: 'right', '+': 'in', '-': 'out', '0': 'all'};
  document.addEventListener('keydown', (event) => {
    const group = shown();
    if (!group || event.ctrlKey || event.metaKey || event.altKey || /INPUT|SELECT/.test(event.target.tagName)) return;
    if (event.key === 'Escape') location.hash = '';
    if (!(event.key in keys)) return;
    move(group, keys[event.key]);
    event.preventDefault();
  });
  document.addEventListener('click', (event) => {
    const button = event.target.closest('button');
    if (!button) return;
    if (button.dataset.time) move(shown(), button.dataset.time);
    if (button.className === 'mark') mark(shown(), Number(button.dataset.start), Number(button.dataset.end));
  });
  box.addEventListener('input', filter);
  addEventListener('hashchange', route);
  dark.addEventListener('change', () => { if (shown()) draw(shown(), dark.matches ? 'dark' : 'light'); });
  route();
})();
