// Predicted against measured times: for each system its plots, its errors and its worst cells.
'use strict';

(() => {
  const {data, page, palette, element, bytes, time, fixed, table, ink, logarithmic, sizeTicks, plot} =
      cclgymPage;
  const factor = log => Math.exp(log).toFixed(2) + '×';
  const pointsOf = system => system.points.map(
      ([ranks, collective, size, measured, simulated, config, release, seen]) =>
      ({ranks, collective, size, measured, simulated, config, release, seen,
        ratio: simulated / measured}));

  const errorTable = (name, rows) => table(
      [{name, text: true}, {name: 'cells'}, {name: 'rows'}, {name: 'mean |ln|', format: fixed},
       {name: 'median', format: fixed}, {name: 'p90', format: fixed},
       {name: 'simulated / measured', format: factor}], rows);

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
          'ratio ' + point.ratio.toFixed(2), point.seen, point.config,
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

  // One series per number of ranks and collective.
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
       {name: 'rows', text: true}, {name: 'as', text: true}],
      [...points].sort((a, b) => Math.abs(Math.log(b.ratio)) - Math.abs(Math.log(a.ratio)))
          .slice(0, 25).map(point => [point.ranks, point.collective, point.size, point.measured,
                                      point.simulated, point.ratio, point.seen, point.config]));

  // Tables of the fitted cells, and separate ones of the held-out cells.
  const errorsOf = part => [
    ...(part.sets.length < 2 ? [] :
        [element('h3', {}, `Error by parameter set, rows ${part.seen}`),
          errorTable('set', part.sets)]),
    element('h3', {}, `Error by size, rows ${part.seen}`), errorTable('size', part.sizes),
    element('h3', {}, `Error by ranks, rows ${part.seen}`), errorTable('ranks', part.ranks),
    element('h3', {}, `Error by collective, rows ${part.seen}`),
    errorTable('collective', part.collectives)];

  page.append(
      element('h1', {}, 'Predicted and measured'),
      element('p', {class: 'lead'}, `${data.file}: ${data.rows} rows` +
          (data.left_out ? `, ${data.left_out} rows left out by the filter` : '')),
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
        ...system.parts.flatMap(errorsOf),
        element('h3', {}, 'Worst cells'), worst(points));
  }
  if (data.refused.length) {
    page.append(element('h2', {}, 'Not simulated'), table(
        [{name: 'system', text: true}, {name: 'rows'}, {name: 'reason', text: true}],
        data.refused));
  }
})();
