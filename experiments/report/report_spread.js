// Variation of the time of the same call over the seeds, against size.
'use strict';

(() => {
  const {element, format, drawing} = report;
  const kFewest = 5;  // min number of seeds for a spread

  // A quantile of sorted values, linear between neighbours.
  const quantile = (sorted, p) => {
    const place = p * (sorted.length - 1);
    const low = Math.floor(place);
    const high = Math.min(low + 1, sorted.length - 1);
    return sorted[low] + (sorted[high] - sorted[low]) * (place - low);
  };

  const spreadOf = point => {
    const sorted = [...point.times_us].sort((a, b) => a - b);
    const mean = sorted.reduce((a, b) => a + b, 0) / sorted.length;
    const variance = sorted.reduce((sum, us) => sum + (us - mean) ** 2, 0) / sorted.length;
    const [low, median, high] = [0.05, 0.5, 0.95].map(p => quantile(sorted, p));
    return {
      bytes: point.bytes, config: point.config, seeds: sorted.length, sorted, low, median, high,
      relative: (high - low) / median, variation: Math.sqrt(variance) / mean,
    };
  };

  // Each algorithm and protocol with its fastest configuration at each size.
  const seriesOf = block => {
    const groups = new Map();
    for (const config of report.configsOf(block)) {
      const name = report.seriesName(config);
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(config);
    }
    return [...groups].map(([name, configs]) => ({
      name, algorithm: configs[0].algorithm,
      protocol: report.isChosen(configs[0]) ? null : configs[0].protocol,
      points: report.bestOf(configs).filter(point => point.times_us.length >= kFewest)
                    .map(spreadOf),
    })).filter(series => series.points.length > 1 &&
        series.points.some(point => point.high > point.low));
  };

  const sizeAxis = series => {
    const sizes = series.flatMap(one => one.points.map(point => point.bytes));
    return {
      type: 'logarithmic', min: Math.min(...sizes), max: Math.max(...sizes),
      grid: {color: drawing.ink().grid, drawBorder: false},
      title: {display: true, text: 'Size', color: drawing.ink().muted},
      afterBuildTicks: axis => { axis.ticks = drawing.powersOfTwo(axis.min, axis.max, 8); },
      ticks: {color: drawing.ink().muted, maxRotation: 0, autoSkip: false, callback: format.bytes},
    };
  };

  const describe = point => [
    `median ${format.time(point.median)} of ${format.count(point.seeds, 'seed')}`,
    `p5 to p95 ${format.time(point.low)} to ${format.time(point.high)}`,
    `(p95 − p5) / median ${format.percent(point.relative)}`,
    `standard deviation / mean ${format.percent(point.variation)}`,
  ];

  // A plot with vertical axis y; datasets() returns lines whose raw points have {x, y, point}.
  const plotOf = (series, title, y, datasets) => {
    const canvas = element('canvas', {role: 'img', 'aria-label': title});
    const figure = element('figure', {}, element('figcaption', {}, title),
        element('div', {class: 'canvas'}, canvas));
    let chart = null;
    const axis = () => ({
      ...y, grid: {color: drawing.ink().grid, drawBorder: false},
      ticks: {color: drawing.ink().muted, ...y.ticks},
    });
    const draw = () => {
      if (chart) return;
      chart = new Chart(canvas, {
        type: 'line', data: {datasets: datasets()},
        options: {
          layout: {padding: {top: 7, right: 9}},
          animation: false, maintainAspectRatio: false, parsing: false, normalized: true,
          font: {family: getComputedStyle(document.body).fontFamily},
          interaction: {mode: 'nearest', intersect: false, axis: 'xy'},
          scales: {x: sizeAxis(series), y: axis()},
          plugins: {
            legend: {display: false},
            tooltip: {
              displayColors: false, padding: 9, filter: (item, i) => i === 0,
              backgroundColor: () => drawing.isDark() ? '#3b434df2' : '#1b1e23eb',
              callbacks: {
                title: items => `${report.configName(items[0].raw.point.config)}, ` +
                    format.bytes(items[0].raw.x),
                label: item => describe(item.raw.point),
              },
            },
          },
        },
      });
    };
    const update = () => {
      if (!chart) return;
      chart.data.datasets = datasets();
      chart.options.scales = {x: sizeAxis(series), y: axis()};
      chart.update('none');
    };
    return {figure, draw, update};
  };

  const lineOf = (one, value, more) => {
    const stroke = drawing.colour(one.algorithm);
    return {
      data: one.points.map(point => ({x: point.bytes, y: value(point), point})),
      borderColor: stroke, backgroundColor: stroke, borderWidth: 2,
      borderDash: drawing.dashOf(one.protocol), pointRadius: 2, pointHitRadius: 6,
      pointHoverRadius: 5, tension: 0, clip: false, ...more,
    };
  };

  // Median line on a band from p5 to p95.
  const banded = (series, scale) => series.flatMap(one => {
    const shade = drawing.faded(drawing.colour(one.algorithm), 0.22);
    const edge = {borderWidth: 0, pointRadius: 0, pointHitRadius: 0, pointHoverRadius: 0};
    return [
      lineOf(one, point => point.median / scale(point), {}),
      lineOf(one, point => point.low / scale(point), {...edge, fill: false}),
      lineOf(one, point => point.high / scale(point),
          {...edge, fill: '-1', backgroundColor: shade}),
    ];
  });

  const timeTick = us => us >= 1e6 ? us / 1e6 + ' s' : us >= 1e3 ? us / 1e3 + ' ms' : us + ' µs';
  const decades = axis => {
    axis.ticks = [];
    for (let power = Math.ceil(Math.log10(axis.min) - 1e-9); power <= Math.log10(axis.max); ++power) {
      axis.ticks.push({value: 10 ** power});
    }
  };

  const tableOf = one => element('table', {class: 'dense'},
      element('thead', {}, element('tr', {}, element('th', {class: 'text'}, one.name),
          ...one.points.map(point => element('th', {scope: 'col'}, format.bytes(point.bytes))))),
      element('tbody', {}, ...[
        ['median', point => format.time(point.median)],
        ['p5 / median', point => format.ratio(point.low / point.median)],
        ['p95 / median', point => format.ratio(point.high / point.median)],
        ['(p95 − p5) / median', point => format.percent(point.relative)],
        ['std. deviation / mean', point => format.percent(point.variation)],
      ].map(([name, text]) => element('tr', {}, element('td', {class: 'text'}, name),
          ...one.points.map(point => element('td', {}, text(point)))))));

  const greatest = one => one.points.reduce((a, b) => b.relative > a.relative ? b : a);

  // Section of a block's page; nothing if the times do not vary, or if there are too few seeds.
  report.spread = block => {
    const series = seriesOf(block);
    if (!series.length) return [];
    const plots = [
      plotOf(series, 'Time: median, and p5 to p95 of the seeds',
          {type: 'logarithmic', afterBuildTicks: decades, ticks: {callback: timeTick}},
          () => banded(series, () => 1)),
      plotOf(series, 'Time over its median', {ticks: {callback: value => Number(value.toFixed(3)) + '×'}},
          () => banded(series, point => point.median)),
      plotOf(series, 'Relative spread: (p95 − p5) / median, thin: standard deviation / mean',
          {beginAtZero: true, ticks: {callback: value => Math.round(100 * value) + ' %'}},
          () => series.flatMap(one => [
            lineOf(one, point => point.relative, {}),
            lineOf(one, point => point.variation, {borderWidth: 1, pointRadius: 1.2}),
          ])),
    ];
    const legend = element('div', {class: 'legend'});
    const fillLegend = () => legend.replaceChildren(...series.map(one =>
        element('span', {class: 'key'}, drawing.swatch(drawing.colour(one.algorithm)), one.name)));
    fillLegend();
    const most = series.map(one => {
      const point = greatest(one);
      return `${one.name} ${format.percent(point.relative)} at ${format.bytes(point.bytes)}`;
    }).join(', ');
    return [
      element('h3', {}, 'Spread over the seeds'),
      element('p', {class: 'muted'}, `Each algorithm and protocol with the configuration of minimum ` +
          `median at each size. Maximum of (p95 − p5) / median: ${most}.`),
      ...(series.length > 1 ? [legend] : []), report.plotGrid(plots, fillLegend).grid,
      ...series.map(one => element('div', {class: 'scroll'}, tableOf(one))),
    ];
  };
})();
