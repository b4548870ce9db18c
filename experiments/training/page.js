// Assembles the page of a training run.
'use strict';

(() => {
  const {data, element, format, drawing} = report;
  const page = document.getElementById('page');
  const cell = (text, attributes) => element('td', attributes || {}, text);
  const times = value => report.isNumber(value) ? value.toFixed(4) : format.missing;

  const summaryTable = part => element('div', {class: 'scroll'}, element('table', {},
      element('thead', {}, element('tr', {}, ...['policy', '× oracle', 'min … max over seeds',
        '90 % of cells below', 'worst cell', 'speedup over the default'].map((heading, i) =>
          element('th', {class: i ? null : 'text', scope: 'col'}, heading)))),
      element('tbody', {}, ...part.summary.map(row => element('tr', {},
          cell(row.policy, {class: 'text' + (row.policy.startsWith('lstm-') ? ' total' : '')}),
          cell(times(row.ratio)), cell(row.seeds > 1 ? `${times(row.least)} … ${times(row.most)}` :
                                                     format.missing),
          cell(format.fixed(row.p90, 3)), cell(format.fixed(row.worst, 3)),
          cell(format.fixed(row.speedup, 3)))))));

  // Time of each policy relative to the oracle's: the geometric mean of its seeds at each size.
  const seriesOf = collective => {
    const policies = new Map();
    for (const run of collective.runs) {
      if (!policies.has(run.policy)) policies.set(run.policy, new Map());
      const sizes = policies.get(run.policy);
      for (const point of run.points) {
        if (!sizes.has(point.bytes)) sizes.set(point.bytes, []);
        sizes.get(point.bytes).push(point);
      }
    }
    return [...policies].map(([policy, sizes]) => ({
      policy, points: [...sizes].sort((a, b) => a[0] - b[0]).map(([bytes, points]) => ({
        x: bytes, points, policy, y: Math.exp(points.reduce((sum, point) =>
            sum + Math.log(point.ratio), 0) / points.length),
      })),
    }));
  };

  const ratioPlots = (part, hidden) => {
    const names = report.distinct(part.collectives.flatMap(collective =>
        collective.runs.map(run => run.policy)));
    const colour = name => drawing.palette(names.indexOf(name));
    const plots = part.collectives.map(collective => {
      const series = seriesOf(collective);
      const points = series.filter(one => one.policy !== 'random').flatMap(one => one.points);
      if (!points.length) points.push(...series.flatMap(one => one.points));
      const sizes = points.map(point => point.x);
      // Outliers would squeeze the other lines together, so they leave the plot at the top.
      const sorted = points.map(point => point.y).sort((a, b) => a - b);
      const most = sorted[sorted.length - 1];
      const high = most < 4 ? most : sorted[Math.floor(0.9 * sorted.length)] * 1.5;
      return report.sizePlot({
        title: `${collective.name}: time / the oracle's`,
        sizes: [Math.min(...sizes), Math.max(...sizes)],
        range: {min: Math.min(sorted[0], 1) * 0.99, max: high * 1.03},
        datasets: () => series.filter(one => !hidden.has(one.policy)).map(one => ({
          data: one.points, borderColor: colour(one.policy), backgroundColor: colour(one.policy),
          borderWidth: one.policy.startsWith('lstm-') ? 3.2 : 1.5, tension: 0,
          pointRadius: one.points.length < 2 ? 4 : 1.5, pointHitRadius: 6, pointHoverRadius: 5,
          order: one.policy.startsWith('lstm-') ? 1 : 2,
        })),
        describe: raw => [
          `${raw.policy}, ${report.sizeText(raw.x)}`, times(raw.y) + ' × oracle',
          ...report.distinct(raw.points.map(point => `${point.algorithm} ${point.protocol} ` +
              `c${point.channels} r${point.instances}, ${format.time(point.time_us)}`)),
        ],
      });
    });
    const legend = element('div', {class: 'legend'});
    let update = () => {};
    const fillLegend = () => legend.replaceChildren(report.chipGroup('Policy', names.map(name =>
        report.chip(hidden, name, name, drawing.swatch(colour(name)), () => update()))));
    const made = report.plotGrid(plots, fillLegend);
    update = made.update;
    fillLegend();
    return [legend, made.grid];
  };

  const publishedTable = () => element('div', {class: 'scroll'}, element('table', {class: 'dense'},
      element('thead', {}, element('tr', {}, ...['collective', 'machine', 'sizes', 'fastest', 'speedup',
        'over', 'source'].map(heading => element('th', {class: 'text', scope: 'col'}, heading)))),
      element('tbody', {}, ...data.published.map(row => element('tr', {},
          ...[row.collective, `${row.fabric}, ${format.count(row.servers, 'node')}, ${row.gpus} GPUs`,
            row.range, row.variant, row.low === row.high ? format.ratio(row.low) + '×' :
                `${format.ratio(row.low)} to ${format.ratio(row.high)}×`, row.baseline, row.source]
              .map(text => cell(text, {class: 'text free'})))))));

  page.append(element('h1', {}, data.name),
      ...report.curvesSection());
  for (const part of data.parts) {
    page.append(element('h2', {}, `${part.label}: ${part.fabric}`), summaryTable(part),
        ...(part.nccl ? part.nccl.trim().split('\n').map(line => element('p', {}, line)) : []),
        ...ratioPlots(part, new Set(part.summary.length > 1 ? ['random'] : [])));
    for (const collective of part.collectives) {
      const strips = report.stripsOf(collective);
      if (!strips) continue;
      page.append(element('h3', {}, `${collective.name}: choices against size`),
          element('p', {class: 'muted'}, 'The most frequent choice at each size; for tuners, the ' +
              'configuration chosen.' + (collective.published.length ? ' Hatched: fastest on this machine ' +
              'according to publications.' : '')), strips);
      const fronts = report.frontsOf(collective);
      if (!fronts) continue;
      page.append(element('h3', {}, `${collective.name}: choices by steps and rounds per chunk`),
          element('p', {class: 'muted'}, 'SCCL’s costs S and R/C of the most frequent choice at each size; a ' +
              'larger circle has more sizes. The line is the synthesised front; its bounds exclude the shaded ' +
              'area for schedules along direct links. A message through a host or a third GPU is one step.'), fronts);
    }
  }
  if (!data.parts.length) {
    page.append(element('p', {class: 'notice'}, 'Not compared with other policies yet: run cclgym ' +
        'evaluate to compare and to write this page again.'));
  }
  if (data.published.length) {
    page.append(element('h2', {}, 'Published fastest configurations'),
        element('p', {class: 'muted'}, 'For the collectives above, on any machine. “none” is a size ' +
            'range in which no program of the publication is faster.'), publishedTable());
  }
  page.append(element('footer', {}, `Made by cclgym ${data.version}. Plots by Chart.js (MIT licence).`));
})();
