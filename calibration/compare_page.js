// Predicted against measured: for each system its plots, its errors and its worst cells.
'use strict';

(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const page = document.getElementById('page');
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const palette = ['#1f5fc4', '#d1560f', '#2a8a4a', '#8a3fb0', '#b3272d', '#0f8b8d', '#946b00',
                   '#5b6472', '#d0458b', '#4c7a00'];
  const charts = [];

  const element = (tag, attributes, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value);
    }
    node.append(...children);
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
  const factor = log => Math.exp(log).toFixed(2) + '×';

  const pointsOf = system => system.points.map(
      ([ranks, collective, size, measured, simulated, config, release]) =>
      ({ranks, collective, size, measured, simulated, config, release,
        ratio: simulated / measured}));

  // A table whose headings sort it.
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

  const errorTable = (name, rows) => table(
      [{name, text: true}, {name: 'cells'}, {name: 'rows'}, {name: 'mean |ln|', format: fixed},
       {name: 'median', format: fixed}, {name: 'p90', format: fixed},
       {name: 'simulated / measured', format: factor}], rows);

  const ink = () => dark.matches ? {text: '#9ba3ae', grid: '#2e343c'} :
      {text: '#5d646e', grid: '#dfe2e7'};

  const logarithmic = (title, format, more) => ({
    type: 'logarithmic', title: {display: true, text: title, color: ink().text},
    grid: {color: ink().grid}, ticks: {color: ink().text, maxTicksLimit: 9, callback: format},
    ...more,
  });

  // Sizes are marked at powers of two, nine at most.
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

  const tooltip = {
    displayColors: false,
    callbacks: {
      title: items => {
        const point = items[0].raw.point;
        return point ? `${point.collective}, ${point.ranks} ranks, ${bytes(point.size)}` : '';
      },
      label: context => {
        const point = context.raw.point;
        return point ? ['measured ' + time(point.measured), 'simulated ' + time(point.simulated),
          'ratio ' + point.ratio.toFixed(2), point.config,
          point.release ? 'NCCL ' + point.release : ''].filter(text => text) : '';
      },
    },
  };

  const options = scales => ({
    animation: false, maintainAspectRatio: false, parsing: false,
    interaction: {mode: 'nearest', intersect: false, axis: 'xy'}, scales,
    plugins: {legend: {maxHeight: 90, labels: {color: ink().text, boxWidth: 8, boxHeight: 8,
      font: {size: 10}, padding: 6,
      filter: item => !item.text.endsWith(', simulated')}}, tooltip},
  });

  // One series for each number of ranks and collective.
  const seriesOf = points => {
    const series = new Map();
    for (const point of points) {
      const name = `${point.collective}, ${point.ranks} ranks`;
      if (!series.has(name)) series.set(name, []);
      series.get(name).push(point);
    }
    return [...series].map(([name, members], i) => ({
      name, members: members.sort((a, b) => a.size - b.size), colour: palette[i % palette.length]}));
  };

  const scatter = points => {
    const times = points.flatMap(point => [point.measured, point.simulated]);
    const range = {min: Math.min(...times) / 1.3, max: Math.max(...times) * 1.3};
    return {
      type: 'scatter',
      data: {datasets: [
        ...seriesOf(points).map(({name, members, colour}) => ({
          label: name, borderColor: colour, backgroundColor: colour, pointRadius: 2.5,
          data: members.map(point => ({x: point.measured, y: point.simulated, point})),
        })),
        {label: 'equal', data: [{x: range.min, y: range.min}, {x: range.max, y: range.max}],
         showLine: true, pointRadius: 0, borderColor: ink().text, borderWidth: 1,
         borderDash: [4, 4]},
      ]},
      options: options({x: logarithmic('measured', time, range),
                        y: logarithmic('simulated', time, range)}),
    };
  };

  const ratios = points => {
    const most = Math.max(2, ...points.map(point => Math.max(point.ratio, 1 / point.ratio)));
    const sizes = points.map(point => point.size);
    return {
      type: 'line',
      data: {datasets: seriesOf(points).map(({name, members, colour}) => ({
        label: name, borderColor: colour, backgroundColor: colour, pointRadius: 2, borderWidth: 1.4,
        data: members.map(point => ({x: point.size, y: point.ratio, point})),
      }))},
      options: options({
        x: logarithmic('size', bytes,
            {min: Math.min(...sizes), max: Math.max(...sizes), ...sizeTicks}),
        y: logarithmic('simulated / measured', value => +value.toPrecision(2) + '×',
            {min: 1 / most, max: most}),
      }),
    };
  };

  const curves = points => ({
    type: 'line',
    data: {datasets: seriesOf(points).flatMap(({name, members, colour}) => [
      {label: name, borderColor: colour, backgroundColor: colour, showLine: false,
       pointRadius: 3, data: members.map(point => ({x: point.size, y: point.measured, point}))},
      {label: name + ', simulated', borderColor: colour, backgroundColor: colour, pointRadius: 0,
       borderWidth: 1.5, data: members.map(point => ({x: point.size, y: point.simulated, point}))},
    ])},
    options: options({x: logarithmic('size', bytes, sizeTicks), y: logarithmic('time', time, {})}),
  });

  const worst = points => table(
      [{name: 'ranks'}, {name: 'collective', text: true}, {name: 'size', format: bytes},
       {name: 'measured', format: time}, {name: 'simulated', format: time},
       {name: 'simulated / measured', format: value => value.toFixed(2)},
       {name: 'as', text: true}],
      [...points].sort((a, b) => Math.abs(Math.log(b.ratio)) - Math.abs(Math.log(a.ratio)))
          .slice(0, 25).map(point => [point.ranks, point.collective, point.size, point.measured,
                                      point.simulated, point.ratio, point.config]));

  page.append(
      element('h1', {}, 'Predicted and measured'),
      element('p', {class: 'lead'}, `${data.file}: ${data.rows} rows` +
          (data.left_out ? `, ${data.left_out} more left out by the filter` : '')),
      errorTable('system', data.table));
  for (const system of data.systems) {
    const points = pointsOf(system);
    page.append(
        element('h2', {}, system.name),
        element('p', {class: 'muted'}, 'parameter set ' + system.cost_model),
        element('div', {class: 'plots'},
            plot('Time by size (dots: measured, lines: simulated)', system.name + ', time by size', () => curves(points)),
            plot('Simulated / measured by size', system.name + ', ratio by size',
                () => ratios(points)),
            plot('Simulated against measured', system.name + ', simulated against measured',
                () => scatter(points))),
        element('h3', {}, 'Error by size'), errorTable('size', system.sizes),
        element('h3', {}, 'Error by ranks'), errorTable('ranks', system.ranks),
        element('h3', {}, 'Error by collective'), errorTable('collective', system.collectives),
        element('h3', {}, 'Worst cells'), worst(points));
  }
  if (data.refused.length) {
    page.append(element('h2', {}, 'Not simulated'), table(
        [{name: 'system', text: true}, {name: 'rows'}, {name: 'reason', text: true}],
        data.refused));
  }
  dark.addEventListener('change', () => {
    for (const each of charts) {
      each.chart.options = each.make().options;
      each.chart.update('none');
    }
  });
})();
