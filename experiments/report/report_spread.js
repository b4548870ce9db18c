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

  const describe = ({point, seed_us}) => [
    seed_us === undefined ? null : `one seed: ${format.time(seed_us)}`,
    `median ${format.time(point.median)} of ${format.count(point.seeds, 'seed')}`,
    `p5 to p95 ${format.time(point.low)} to ${format.time(point.high)}`,
    `(p95 − p5) / median ${format.percent(point.relative)}`,
    `standard deviation / mean ${format.percent(point.variation)}`,
  ];

  // datasets() returns lines whose raw points have {x, y, point}.
  const plotOf = (series, title, y, datasets) => cclgymPage.plot({
    title, datasets, y,
    x: {kind: 'size', title: 'Size', values: report.distinct(
        series.flatMap(one => one.points.map(point => point.bytes)))},
    describe: raw => [report.configName(raw.point.config), ...describe(raw)],
  });

  const lineOf = (one, value, more) => {
    const stroke = drawing.colour(one.algorithm);
    return {
      data: one.points.map(point => ({x: point.bytes, y: value(point), point})),
      borderColor: stroke, backgroundColor: stroke, borderWidth: 2,
      borderDash: drawing.dashOf(one.protocol), pointRadius: 2, pointHitRadius: 6,
      pointHoverRadius: 5, tension: 0, clip: false, ...more,
    };
  };

  // Quantiles of few seeds say little, so such plots have a dot for each seed, and the band reaches
  // from the least to the greatest. Dots of neighbouring series stand side by side.
  const kFewSeeds = 20;
  const few = series => series.some(one => one.points.some(point => point.seeds < kFewSeeds));

  const banded = (series, scale) => {
    const dots = few(series);
    const [from, to] = dots ? [point => point.sorted[0], point => point.sorted[point.seeds - 1]] :
        [point => point.low, point => point.high];
    return series.flatMap((one, i) => {
      const shade = drawing.faded(drawing.colour(one.algorithm), 0.16);
      const edge = {borderWidth: 0, pointRadius: 0, pointHitRadius: 0, pointHoverRadius: 0};
      const beside = 2 ** (0.12 * (i - (series.length - 1) / 2) / Math.max(series.length - 1, 1));
      return [
        ...(dots ? [{
          ...lineOf(one, () => 0, {}), showLine: false, pointRadius: 2.6, clip: false, aside: false,
          data: one.points.flatMap(point => point.sorted.map(us => (
              {x: point.bytes * beside, y: us / scale(point), point, seed_us: us}))),
        }] : []),
        lineOf(one, point => point.median / scale(point), {pointRadius: dots ? 0 : 2}),
        lineOf(one, point => from(point) / scale(point), {...edge, fill: false}),
        lineOf(one, point => to(point) / scale(point),
            {...edge, fill: '-1', backgroundColor: shade}),
      ];
    });
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

  // Sum of the logarithms of a series' times relative to sizes, to order series by speed.
  const speedOf = one => one.points.reduce((sum, point) => sum + Math.log(point.median / point.bytes),
      0) / one.points.length;

  const greatest = one => one.points.reduce((a, b) => b.relative > a.relative ? b : a);

  // Section of a block's page; nothing if the times do not vary, or if there are too few seeds.
  report.spread = block => {
    const series = seriesOf(block);
    if (!series.length) return [];
    const ends = few(series) ? 'every seed (dots), least to greatest' : 'p5 to p95 of the seeds';
    const names = series.map(one => one.name);
    const legend = element('div', {class: 'legend'});
    // Many bands on top of each other cannot be told apart: the three with the least times first.
    const hidden = new Set(few(series) ? [...series].sort((a, b) =>
        speedOf(a) - speedOf(b)).slice(3).map(one => one.name) : []);
    const shown = () => series.filter(one => !hidden.has(one.name));
    const plots = [
      plotOf(series, 'Time: median, and ' + ends, {kind: 'time'}, () => banded(shown(), () => 1)),
      plotOf(series, 'Time over its median: ' + ends, {kind: 'ratio', range: values => {
        const [least, most] = [cclgymAxes.least(values), cclgymAxes.most(values)];
        return {min: Math.min(least, 0.99) * 0.995, max: Math.max(most, 1.01) * 1.005};
      }}, () => banded(shown(), point => point.median)),
      plotOf(series, 'Relative spread: (p95 − p5) / median, thin: standard deviation / mean',
          {kind: 'linear', zero: true, text: value => Number((100 * value).toPrecision(3)) + ' %'},
          () => shown().flatMap(one => [
            lineOf(one, point => point.relative, {}),
            lineOf(one, point => point.variation, {borderWidth: 1, pointRadius: 1.2}),
          ])),
    ];
    const fillLegend = () => legend.replaceChildren(report.chipGroup('Shown', series.map(one =>
        report.chip(hidden, one.name, one.name, drawing.swatch(drawing.colour(one.algorithm)),
            () => made.update()))));
    fillLegend();
    const made = report.plotGrid(plots, fillLegend);
    const most = series.map(one => {
      const point = greatest(one);
      return `${one.name} ${format.percent(point.relative)} at ${format.bytes(point.bytes)}`;
    }).join(', ');
    return [
      element('h3', {}, 'Spread over the seeds'),
      element('p', {class: 'muted'}, `Each algorithm and protocol with the configuration of minimum ` +
          `median at each size. Maximum of (p95 − p5) / median: ${most}.`),
      ...(names.length > 1 ? [legend] : []), made.grid,
      ...series.map(one => element('div', {class: 'scroll'}, tableOf(one))),
    ];
  };
})();
