// Common parts of the pages: elements, units, sortable tables, plots.
'use strict';

const cclgymPage = (() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const page = document.getElementById('page');
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const palette = ['#1f5fc4', '#d1560f', '#2a8a4a', '#8a3fb0', '#b3272d', '#0f8b8d', '#946b00',
                   '#5b6472', '#d0458b', '#4c7a00'];
  const charts = [];

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

  const bytes = value => {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let unit = 0;
    while (unit + 1 < units.length && value >= 1024) {
      value /= 1024;
      ++unit;
    }
    return +value.toFixed(1) + ' ' + units[unit];
  };
  const time = us => us >= 1e6 ? (us / 1e6).toPrecision(4) + ' s' :
      us >= 1e3 ? (us / 1e3).toPrecision(4) + ' ms' : us.toPrecision(4) + ' µs';
  const fixed = value => value.toFixed(3);

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

  const ink = () => dark.matches ? {text: '#9ba3ae', grid: '#2e343c'} :
      {text: '#5d646e', grid: '#dfe2e7'};

  const logarithmic = (title, format, more) => ({
    type: 'logarithmic', title: {display: true, text: title, color: ink().text},
    grid: {color: ink().grid}, ticks: {color: ink().text, maxTicksLimit: 9, callback: format},
    ...more,
  });

  // Size ticks at powers of two, at most nine.
  const sizeTicks = {afterBuildTicks: axis => {
    const first = Math.ceil(Math.log2(axis.min)), last = Math.floor(Math.log2(axis.max));
    const step = Math.max(1, Math.ceil((last - first) / 8));
    axis.ticks = [];
    for (let power = first; power <= last; power += step) axis.ticks.push({value: 2 ** power});
  }};

  const plot = (title, label, make) => {
    const canvas = element('canvas', {role: 'img', 'aria-label': label});
    const figure = element('figure', {}, element('figcaption', {}, title),
        element('div', {class: 'canvas'}, canvas));
    new IntersectionObserver((entries, observer) => {
      if (!entries.some(entry => entry.isIntersecting)) return;
      observer.disconnect();
      charts.push({chart: new Chart(canvas, make()), make});
    }, {rootMargin: '600px'}).observe(canvas);
    return figure;
  };

  dark.addEventListener('change', () => {
    for (const each of charts) {
      each.chart.options = each.make().options;
      each.chart.update('none');
    }
  });
  return {data, page, palette, element, bytes, time, fixed, table, ink, logarithmic, sizeTicks, plot};
})();
