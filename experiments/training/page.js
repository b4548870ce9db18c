// Assembles the page of a training run.
'use strict';

(() => {
  const {data, element, format} = report;
  const {page} = cclgymPage;
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

  // Outliers would squeeze the other lines together, so they leave the plot at the top.
  const rangeOf = values => {
    const sorted = [...values].sort((a, b) => a - b);
    const most = sorted[sorted.length - 1];
    const high = most < 4 ? most : sorted[Math.floor(0.9 * sorted.length)] * 1.5;
    return {min: Math.min(sorted[0], 1) * 0.99, max: Math.max(high, 1) * 1.03};
  };

  const ratioPlots = part => {
    const names = report.distinct(part.collectives.flatMap(collective =>
        collective.runs.map(run => run.policy)));
    return cclgymPage.plotsWithLegend('Policy', names, (shown, colour) =>
        part.collectives.map(collective => {
          const series = seriesOf(collective);
          return report.sizePlot({
            title: `${collective.name}: time / the oracle's`, range: rangeOf,
            values: report.distinct(series.flatMap(one => one.points.map(point => point.x))),
            datasets: () => series.filter(one => shown(one.policy)).map(one => ({
              data: one.points, borderColor: colour(one.policy),
              backgroundColor: colour(one.policy), aside: one.policy === 'random' && names.length > 1,
              borderWidth: one.policy.startsWith('lstm-') ? 3.2 : 1.5, tension: 0,
              pointRadius: one.points.length < 2 ? 4 : 1.5, pointHitRadius: 6, pointHoverRadius: 5,
              order: one.policy.startsWith('lstm-') ? 1 : 2,
            })),
            describe: raw => [
              raw.policy, times(raw.y) + ' × oracle',
              ...report.distinct(raw.points.map(point => `${point.algorithm} ${point.protocol} ` +
                  `c${point.channels} r${point.instances}, ${format.time(point.time_us)}` +
                  (point.nccl ? ` (${point.nccl})` : ''))),
            ],
          });
        }));
  };

  const publishedTable = () => element('div', {class: 'scroll'}, element('table', {class: 'dense'},
      element('thead', {}, element('tr', {}, ...['collective', 'machine', 'sizes', 'fastest', 'speedup',
        'over', 'source'].map(heading => element('th', {class: 'text', scope: 'col'}, heading)))),
      element('tbody', {}, ...data.published.map(row => element('tr', {},
          ...[row.collective, `${row.fabric}, ${format.count(row.servers, 'node')}, ${row.gpus} GPUs`,
            row.range, row.variant, row.low === row.high ? format.ratio(row.low) + '×' :
                `${format.ratio(row.low)} to ${format.ratio(row.high)}×`, row.baseline, row.source]
              .map(text => cell(text, {class: 'text free'})))))));

  cclgymPage.opening(data.name, null, data.outcome, data.facts);
  const curves = report.curvesSection();
  if (curves.length) page.append(cclgymPage.section('Learning curves', () => curves));
  const marked = part => part.collectives.some(collective => collective.runs.some(run =>
      run.points.some(point => point.nccl)));
  const choicesOf = (part, collective) => {
    const strips = report.stripsOf(collective);
    if (!strips) return [];
    const fronts = report.frontsOf(collective);
    return [
      element('h3', {}, `${collective.name}: choices against size`),
      element('p', {class: 'muted'}, 'The most frequent choice at each size; for tuners, the ' +
          'configuration chosen.' + (collective.published.length ? ' Hatched: fastest on this machine ' +
          'according to publications.' : '') + (marked(part) ? ' Struck through and marked †: choices ' +
          'that NCCL cannot make on this machine.' : '')), strips,
      ...(fronts ? [
        element('h3', {}, `${collective.name}: choices by steps and rounds per chunk`),
        element('p', {class: 'muted'}, 'SCCL’s costs S and R/C of the most frequent choice at each size; a ' +
            'larger circle has more sizes. The line is the synthesised front; its bounds exclude the shaded ' +
            'area for schedules along direct links. A message through a host or a third GPU is one step.'), fronts,
      ] : []),
    ];
  };
  for (const part of data.parts) {
    page.append(cclgymPage.section(`${part.label}: ${part.fabric}`, () => [summaryTable(part),
      ...(part.nccl ? part.nccl.trim().split('\n').map(line => element('p', {}, line)) : []),
      ...ratioPlots(part), ...part.collectives.flatMap(collective => choicesOf(part, collective))]));
  }
  if (!data.parts.length) {
    page.append(element('p', {class: 'notice'}, 'Not compared with other policies yet: run cclgym ' +
        'evaluate to compare and to write this page again.'));
  }
  if (data.published.length) {
    page.append(cclgymPage.section('Published fastest configurations', () => [
      element('p', {class: 'muted'}, 'For the collectives above, on any machine. “none” is a size ' +
          'range in which no program of the publication is faster.'), publishedTable()]));
  }
  page.append(element('footer', {}, `Made by cclgym ${data.version}. Plots by Chart.js (MIT licence).`));
  cclgymPage.contents();
})();
