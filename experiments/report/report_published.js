// Simulated speedups compared with published and measured ones.
'use strict';

(() => {
  const {data, element, format, drawing} = report;

  const variantOf = series => `${series.algorithm} c${series.channels} r${series.instances}`;
  const times = value => format.ratio(value) + '×';
  const interval = (low, high) => times(low) === times(high) ? times(low) :
      `${format.ratio(low)} to ${times(high)}`;
  const intervalOf = points => points.length === 0 ? format.missing :
      interval(Math.min(...points.map(point => point[1])), Math.max(...points.map(point => point[1])));

  const verdictCell = verdict => element('td', {
    class: 'text verdict ' + (!verdict ? '' : verdict.holds ? 'holds' : 'misses'),
  }, verdict ? (verdict.holds ? '✓ holds' : '✗ ' + verdict.text) : format.missing);

  const table = block => element('div', {class: 'scroll'}, element('table', {class: 'dense'},
      element('thead', {}, element('tr', {}, ...['source', 'sizes', 'published', 'simulated', '',
        'margin', 'if all 1', 'by (+ n: others at n sizes)', 'published variant', 'its own', ''].map(heading =>
          element('th', {class: 'text', scope: 'col'}, heading)))),
      element('tbody', {}, ...block.rows.map(row => {
        const alone = row.judged_by === 'variant';
        const text = value => element('td', {class: 'text free'}, value);
        return element('tr', {}, text(row.source), text(row.range), text(interval(row.low, row.high)),
            text(intervalOf(row.best.points)), verdictCell(row.best),
            text(row.best.holds ? format.percent(row.best.margin) : ''),
            text(row.null_holds ? 'holds' : 'misses'), text(row.by), text(row.variant),
            text(alone || !row.own ? format.missing : intervalOf(row.own.points)),
            alone || !row.own ? text('') : verdictCell(row.own));
      }))));

  // Axis range that contains the best speedups and the bands; values far below them are cut off.
  const rangeOf = block => {
    const values = [
      1, ...block.best.map(point => point[1]),
      ...block.rows.flatMap(row => [block.least * row.low, block.most * row.high]),
    ];
    return {min: Math.max(Math.min(...values) / 1.3, 0.1), max: Math.max(...values) * 1.12};
  };

  const figuresOf = block => {
    const variants = report.distinct(block.series.map(variantOf));
    const protocols = report.distinct(block.series.map(series => series.protocol));
    const hidden = new Set();
    const colour = series => drawing.palette(variants.indexOf(variantOf(series)));
    const sizes = block.series.flatMap(series => series.points.map(point => point[0]));
    const span = [Math.min(...sizes), Math.max(...sizes)];
    // Room for complete points and single-size bands at the ends.
    const room = bytes =>
        2 ** (block.rows.some(row => row.from === bytes && row.to === bytes) ? 0.3 : 0.12);
    span[0] /= room(span[0]);
    span[1] *= room(span[1]);

    const datasets = rows => {
      const best = {
        data: block.best.map(([x, y, i]) => ({x, y, name: block.series[i].name, what: 'best'})),
        borderColor: drawing.ink().text, backgroundColor: drawing.ink().text, borderWidth: 4,
        pointRadius: block.best.length < 2 ? 5 : 0, pointHitRadius: 6, order: 3,
      };
      const lines = block.series.filter(series => !hidden.has('v' + variantOf(series)) &&
          !hidden.has('p' + series.protocol)).map(series => ({
        data: series.points.map(([x, y]) => ({x, y, name: series.name})),
        borderColor: drawing.faded(colour(series), 0.8), backgroundColor: colour(series),
        borderWidth: 1.3,
        borderDash: drawing.dashOf(series.protocol), tension: 0, order: 2,
        pointRadius: series.points.length < 2 ? 3 : 0, pointHitRadius: 6, pointHoverRadius: 5,
      }));
      const own = rows.filter(row => row.own).map(row => ({
        data: row.own.points.map(([x, y, i]) => (
            {x, y, name: block.series[i].name, what: `published variant: ${row.variant}`})),
        showLine: false, pointRadius: 4, pointHoverRadius: 6, order: 1, pointBorderWidth: 1.5,
        pointBorderColor: drawing.ink().back,
        pointBackgroundColor: row.own.points.map(([, , i]) => colour(block.series[i])),
      }));
      return [...own, ...lines, ...(hidden.has('best') ? [] : [best])];
    };

    const plots = report.distinct(block.rows.map(row => row.source)).map(source => {
      const rows = block.rows.filter(row => row.source === source);
      return report.sizePlot({
        title: `${source}: speedup over ${block.baseline}`, values: report.distinct(sizes), sizes: span, height: 'tall',
        range: () => rangeOf(block),
        datasets: () => datasets(rows),
        bands: () => rows.map(row => ({
          from: row.from, to: row.to, low: row.low, high: row.high,
          outerLow: block.least * row.low, outerHigh: block.most * row.high,
        })),
        describe: raw => [
          raw.name, 'speedup ' + times(raw.y),
          raw.what === 'best' ? 'the fastest at this size' : raw.what,
          ...rows.filter(row => raw.x >= row.from && (row.to === null || raw.x <= row.to))
              .map(row => `published ${interval(row.low, row.high)} (${row.variant})`),
        ].filter(line => line),
      });
    });

    const legend = element('div', {class: 'legend'});
    const fillLegend = () => {
      const band = element('span', {class: 'key'}, element('i', {class: 'band'}),
          `published; light: ${block.least} × low to ${block.most} × high`);
      const dots = element('span', {class: 'key'}, drawing.marker('circle', drawing.ink().text),
          'the variant that the publication names, in its range');
      legend.replaceChildren(
          report.chipGroup('Variant', variants.map(name => report.chip(hidden, 'v' + name, name,
              drawing.swatch(drawing.palette(variants.indexOf(name))), update))),
          report.chipGroup('Protocol', protocols.map(name => report.chip(hidden, 'p' + name, name,
              drawing.line(drawing.dashOf(name)), update))),
          report.chip(hidden, 'best', 'fastest at each size', element('i', {class: 'bold'}), update),
          band, dots);
    };
    const {grid, update} = report.plotGrid(plots, fillLegend);
    fillLegend();
    return [legend, grid];
  };

  report.publishedSection = () => {
    const rows = data.published.flatMap(block => block.rows);
    if (rows.length === 0) return [];
    const holding = rows.filter(row => row.best.holds).length;
    const named = rows.filter(row => row.own);
    const informative = rows.filter(row => !row.null_holds);
    return [cclgymPage.section('Published speedups', () => [
      element('p', {}, element('strong', {}, `${holding} of ${rows.length} published rows hold`),
          ': at every simulated size of its range, the speedup of the fastest configuration (or of ' +
          'the variant, if the row is about one) lies within ' +
          `${data.published[0].least} × low to ${data.published[0].most} × high. ` +
          (named.length ? `By the variant that the publication names: ` +
              `${named.filter(row => row.own.holds).length} of ${named.length}. ` : '') +
          'The margin is the distance of the nearest point from a bound. A speedup of 1 throughout, the ' +
          `null model, would hold ${rows.length - informative.length} rows` +
          (informative.length ? `; of the ${informative.length} that it would miss, ` +
              `${informative.filter(row => row.best.holds).length} hold here.` : '.')),
      ...data.published.flatMap(block => [
        element('h3', {}, `${report.blockTitle(block)}: over ${block.baseline}`),
        ...figuresOf(block), table(block)]),
    ], {id: 'published'})];
  };

  // Measured and simulated speedups of one block and system.
  const measuredSpeedups = (block, speedups) => {
    const {of, over} = data.measured_speedup;
    const points = speedups.points;
    const error = `mean |ln(simulated / measured)| ${format.fixed(speedups.mean_ln, 3)} (` +
        `${format.percent(Math.expm1(speedups.mean_ln))})`;
    const lineOf = (name, key, colour, width) => ({
      data: points.map(point => ({x: point.bytes, y: point[key], point, name})),
      borderColor: colour, backgroundColor: colour, borderWidth: width, pointRadius: 3,
      pointHitRadius: 6, pointHoverRadius: 5, tension: 0, clip: false,
    });
    const colourOf = key => drawing.palette(key === 'measured' ? 1 : 0);
    const plot = report.sizePlot({
      title: `Speedup of ${of} over ${over}, measured on ${speedups.system} and simulated`,
      values: points.map(point => point.bytes), note: error,
      range: values => ({min: Math.min(...values, 1) / 1.08, max: Math.max(...values, 1) * 1.16}),
      datasets: () => [lineOf('simulated', 'simulated', colourOf('simulated'), 2.5),
                       lineOf('measured', 'measured', colourOf('measured'), 2.5)],
      describe: ({point, name}) => [
        name, 'measured ' + times(point.measured),
        'simulated ' + times(point.simulated) + ' by ' + point.config,
        'simulated / measured ' + format.ratio(point.simulated / point.measured),
      ],
    });
    const legend = element('div', {class: 'legend'});
    const fillLegend = () => legend.replaceChildren(
        element('span', {class: 'key'}, drawing.swatch(colourOf('measured')),
            `measured: ${over} / ${of} (${speedups.source})`),
        element('span', {class: 'key'}, drawing.swatch(colourOf('simulated')),
            `simulated: ${data.baseline} / the fastest configuration`));
    fillLegend();
    const line = (name, text) => element('tr', {}, element('td', {class: 'text'}, name),
        ...points.map(point => element('td', {}, text(point))));
    return [
      element('h3', {}, report.blockTitle(block)), legend,
      report.plotGrid([plot], fillLegend).grid,
      element('div', {class: 'scroll'}, element('table', {class: 'dense'},
          element('thead', {}, element('tr', {}, element('th', {class: 'text'}),
              ...points.map(point => element('th', {scope: 'col'}, format.bytes(point.bytes))))),
          element('tbody', {}, line('measured', point => format.ratio(point.measured)),
              line('simulated', point => format.ratio(point.simulated)),
              line('simulated / measured', point =>
                  format.ratio(point.simulated / point.measured))))),
      element('p', {class: 'muted'}, error + ` over ${format.count(points.length, 'size')}.`),
    ];
  };

  report.measuredSpeedupSection = () => {
    const parts = data.blocks.flatMap(block =>
        block.measured_speedups.flatMap(speedups => measuredSpeedups(block, speedups)));
    return parts.length ? [cclgymPage.section('Measured and simulated speedup', () => parts)] : [];
  };
})();
