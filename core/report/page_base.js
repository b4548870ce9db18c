// Common parts of the pages: elements, units, colours, sortable tables, sections.
'use strict';

const cclgymPage = (() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const page = document.getElementById('page');
  const dark = matchMedia('(prefers-color-scheme: dark)');

  // element('td', {class: 'text'}, 'content', child, ...). Strings become text nodes, never markup.
  const element = (tag, attributes, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith('on')) {
        node.addEventListener(name.slice(2), value);
      } else if (value !== null && value !== undefined && value !== false) {
        node.setAttribute(name, value === true ? '' : value);
      }
    }
    node.append(...children.filter(child => child !== null && child !== undefined));
    return node;
  };

  const time = us => us >= 1e6 ? (us / 1e6).toPrecision(4) + ' s' :
      us >= 1e3 ? (us / 1e3).toPrecision(4) + ' ms' : us.toPrecision(4) + ' µs';
  const fixed = value => value.toFixed(3);

  // Colours on screen; print has those of the light scheme.
  let printing = false;
  const isDark = () => dark.matches && !printing;
  const palettes = {
    light: ['#1f6fc5', '#cf5410', '#16854a', '#8747c2', '#a87a00', '#c02a76', '#0d8385', '#666c75',
            '#4348c4', '#7d4a1c', '#557f00', '#b23a48'],
    dark: ['#6cb0ff', '#ff9d5c', '#5fd08f', '#c79fff', '#e8c04a', '#ff86bd', '#5fd3d5', '#b4bac3',
           '#9a9dff', '#d6a878', '#a5d152', '#ff9a9a'],
  };
  const palette = i => {
    const colours = isDark() ? palettes.dark : palettes.light;
    return colours[i % colours.length];
  };
  const ink = () => isDark() ?
      {text: '#e4e7eb', muted: '#9ba3ae', grid: '#2b3138', back: '#15181c'} :
      {text: '#1b1e23', muted: '#5d646e', grid: '#e6e9ed', back: '#ffffff'};
  const faded = (hex, alpha) => hex + Math.round(alpha * 255).toString(16).padStart(2, '0');

  // Small images for legends.
  const svg = (width, inner) => {
    const box = element('span', {});
    box.innerHTML = `<svg width="${width}" height="12" viewBox="0 0 ${width} 12">${inner}</svg>`;
    return box.firstChild;
  };
  const swatch = fill => svg(12, `<rect width="12" height="12" rx="3" fill="${fill}"/>`);
  const line = dash => svg(30,
      `<line x1="0" y1="6" x2="30" y2="6" stroke="currentColor" stroke-width="2" ` +
      `stroke-dasharray="${dash.join(' ')}"/>`);
  const markerShapes = {
    triangle: '<path d="M6 1 11 10.5H1Z"/>', rectRot: '<path d="M6 0 12 6 6 12 0 6Z"/>',
    circle: '<circle cx="6" cy="6" r="4.5"/>', rect: '<path d="M1.5 1.5h9v9h-9Z"/>',
    star: '<path d="M6 0V12M0 6H12M2 2 10 10M10 2 2 10" stroke="currentColor"/>',
    cross: '<path d="M6 0V12M0 6H12" stroke="currentColor"/>',
  };
  const marker = (shape, stroke) => svg(12,
      `<g fill="none" color="${stroke}" stroke="${stroke}" stroke-width="1.6">` +
      markerShapes[shape] + '</g>');

  // A button that hides or shows a series of plots.
  const chip = (hidden, key, label, picture, update) => {
    const button = element('button', {
      class: 'chip', type: 'button', 'aria-pressed': String(!hidden.has(key)),
      onclick: () => {
        if (!hidden.delete(key)) hidden.add(key);
        button.setAttribute('aria-pressed', String(!hidden.has(key)));
        update();
      },
    }, picture, label);
    return button;
  };
  const chipGroup = (label, chips) => element('div', {class: 'group'}, element('span', {}, label),
      ...chips);

  // A table that a click on a heading sorts.
  const table = (headings, rows) => {
    const body = element('tbody');
    const fill = sorted => body.replaceChildren(...sorted.map(cells => element('tr', {},
        ...cells.map((cell, i) => element('td', headings[i].text ? {class: 'text'} : {},
            headings[i].format ? headings[i].format(cell) : String(cell))))));
    let last = -1;
    const head = element('tr', {}, ...headings.map((heading, i) => {
      const sort = () => {
        const sign = last === i ? -1 : 1;
        last = last === i ? -1 : i;
        fill([...rows].sort((a, b) => sign *
            (typeof a[i] === 'number' ? a[i] - b[i] : String(a[i]).localeCompare(b[i]))));
      };
      return element('th', heading.text ? {class: 'text', onclick: sort} : {onclick: sort},
          heading.name);
    }));
    fill(rows);
    return element('div', {class: 'scroll'},
        element('table', {}, element('thead', {}, head), body));
  };

  // Sections that collapse. Their content is made when they are first open and near the view, so
  // that a page with many sections opens at once; print has all of them.
  const sections = [];
  const section = (title, make, options = {}) => {
    const id = options.id || 'section' + sections.length;
    const body = element('div', {class: 'body'});
    let made = false;
    const fill = () => {
      if (made) return;
      made = true;
      body.append(...make().filter(part => part));
    };
    const node = element('details', {class: 'section', id, open: options.closed ? null : true},
        element('summary', {}, element('h2', {}, title)), body);
    if (options.eager) fill();
    const near = new IntersectionObserver(entries => {
      if (made || !node.open || !entries.some(entry => entry.isIntersecting)) return;
      near.disconnect();
      fill();
    }, {rootMargin: '800px'});
    near.observe(node);
    node.addEventListener('toggle', () => { if (node.open) fill(); });
    sections.push({id, title, node, fill});
    return node;
  };

  // The list of sections: beside the page on wide screens, above it on narrow ones; it stays in
  // view. A page of one section needs none.
  const contents = () => {
    if (sections.length < 2) return;
    const links = sections.map(one => element('a', {href: '#' + one.id, onclick: () => {
      one.node.open = true;
      one.fill();
    }}, one.title));
    const setAll = open => { for (const one of sections) one.node.open = open; };
    const list = element('details', {class: 'contents', open: innerWidth > 1100 || null},
        element('summary', {}, 'Contents'), element('nav', {'aria-label': 'Contents'}, ...links),
        element('div', {class: 'all'},
            element('button', {class: 'page', type: 'button', onclick: () => setAll(true)}, 'Open all'),
            element('button', {class: 'page', type: 'button', onclick: () => setAll(false)}, 'Close all')));
    for (const link of links) {
      link.addEventListener('click', () => { if (innerWidth <= 1100) list.open = false; });
    }
    document.body.classList.add('has-contents');
    document.body.insertBefore(list, page);
    const current = new IntersectionObserver(entries => {
      for (const entry of entries) {
        const i = sections.findIndex(one => one.node === entry.target);
        links[i].classList.toggle('current', entry.isIntersecting);
      }
    }, {rootMargin: '-10% 0px -70% 0px'});
    for (const one of sections) current.observe(one.node);
    const aimed = sections.find(one => '#' + one.id === location.hash);
    if (aimed) {
      aimed.fill();
      aimed.node.open = true;
      aimed.node.scrollIntoView();
    }
  };

  // Tells what was run and what came out, before anything else: facts are [name, content, …].
  const opening = (title, lead, sentences, facts) => page.append(element('h1', {}, title),
      ...(lead ? [element('p', {class: 'lead'}, lead)] : []),
      ...(sentences.length ? [element('ul', {class: 'outcome', id: 'summary'},
          ...sentences.map(text => element('li', {}, text)))] : []),
      ...(facts.length ? [element('dl', {class: 'facts'}, ...facts.map(([name, ...value]) =>
          element('div', {}, element('dt', {}, name), element('dd', {}, ...value))))] : []));

  const prints = [];  // called with true before, and with false after printing
  let opened = [];
  addEventListener('beforeprint', () => {
    printing = true;
    opened = sections.filter(one => one.node.open);
    for (const one of sections) {
      one.node.open = true;
      one.fill();
    }
    for (const print of prints) print(true);
  });
  addEventListener('afterprint', () => {
    printing = false;
    for (const one of sections) one.node.open = opened.includes(one);
    for (const print of prints) print(false);
  });

  return {data, page, dark, palette, element, time, fixed, table, ink, isDark, faded, swatch, line,
          marker, chip, chipGroup, section, contents, opening, prints, ...cclgymAxes,
          bytes: cclgymAxes.sizeText};
})();
