// Predicted against measured times: for each system its plots, its errors and its worst cells.
'use strict';

(() => {
  const {data, page, element, bytes, time, fixed, table, ink, section, plot, plotsWithLegend} =
      cclgymPage;
  const factor = log => Math.exp(log).toFixed(2) + '×';
  const pointsOf = system => system.points.map(
      ([ranks, collective, size, measured, simulated, config, release, seen, interval]) =>
      ({ranks, collective, size, measured, simulated, config, release, seen, interval,
        ratio: simulated / measured, name: `${collective}, ${ranks} ranks`}));

  const errorTable = (name, rows) => table(
      [{name, text: true}, {name: 'cells'}, {name: 'rows'}, {name: 'mean |ln|', format: fixed},
       {name: 'median', format: fixed}, {name: 'p90', format: fixed},
       {name: 'simulated / measured', format: factor}], rows);

  const percent = value => value === null ? '-' : (100 * value).toFixed(1) + ' %';
  const aim = Number((100 * data.coverage.aim).toPrecision(6)) + ' %';
  const width = value => value === null ? '-' : factor(value);
  const intervalText = ({interval}) =>
      interval ? `${time(interval[0])} to ${time(interval[1])}` : '-';

  // Coverage of the intervals, beside that of one interval for everything.
  const coverage = rows => [
    element('p', {class: 'muted'},
        `An interval aims to contain ${aim} of the measured times of calls that no fit has seen. The interval of a ` +
        'cell is made without the cells of its own number of ranks, so this is a test. A width is the factor ' +
        'between the ends.'),
    table([{name: 'held-out cells of', text: true}, {name: 'cells'}, {name: 'rows'},
           {name: 'rows inside', format: percent}, {name: 'medians inside', format: percent},
           {name: 'width', format: width}, {name: 'cells without interval'}],
          rows.map(row => [...row.slice(0, 6), row[12]])),
    element('h3', {}, 'For comparison: rows inside intervals that are not stated'),
    table([{name: 'held-out cells of', text: true},
           ...['equal tails', 'one for all', 'from fitted cells'].flatMap(
               name => [{name, format: percent}, {name: 'width', format: width}])],
          rows.map(row => [row[0], ...row.slice(6, 12)]))];

  const describe = ({point}) => point && [
    `${point.collective}, ${point.ranks} ranks`, 'size ' + bytes(point.size),
    'measured ' + time(point.measured), 'simulated ' + time(point.simulated),
    'ratio ' + point.ratio.toFixed(2), point.seen,
    point.interval ? `${aim} interval ${intervalText(point)}, from ${point.interval[2]}` : '', point.config,
    point.release ? 'NCCL ' + point.release : ''];

  // Plots of one system, with one series per number of ranks and collective.
  const plotsOf = (name, points) => {
    const names = [...new Set(points.map(point => point.name))];
    const sizes = [...new Set(points.map(point => point.size))];
    return plotsWithLegend('Series', names, (shown, colour) => {
      const datasets = (x, y, more) => () => names.filter(shown).map(one => ({
        borderColor: colour(one), backgroundColor: colour(one), pointRadius: 2.5, borderWidth: 1.5,
        clip: false,
        data: points.filter(point => point.name === one).sort((a, b) => a.size - b.size)
                  .map(point => ({x: x(point), y: y(point), point})), ...more,
      }));
      const size = {kind: 'size', title: 'Size', values: sizes};
      const measured = datasets(point => point.size, point => point.measured, {showLine: false});
      const simulated = datasets(point => point.size, point => point.simulated, {pointRadius: 0});
      const scattered = datasets(point => point.measured, point => point.simulated, {showLine: false});
      const equal = () => {
        const times = points.filter(point => shown(point.name))
                          .flatMap(point => [point.measured, point.simulated]);
        const [least, most] = [cclgymAxes.least(times), cclgymAxes.most(times)];
        return times.length ? [{data: [{x: least, y: least}, {x: most, y: most}], pointRadius: 0,
          pointHitRadius: 0, borderColor: ink().text, borderWidth: 1, borderDash: [4, 4]}] : [];
      };
      return [
        plot({title: 'Time by size (dots: measured, lines: simulated)', label: name + ', time by size',
          x: size, y: {kind: 'time'}, datasets: () => [...measured(), ...simulated()], describe}),
        plot({title: 'Simulated / measured by size', label: name + ', ratio by size', x: size,
          y: {kind: 'ratio'}, datasets: datasets(point => point.size, point => point.ratio), describe}),
        plot({title: 'Simulated against measured', label: name + ', simulated against measured',
          x: {kind: 'time', title: 'measured'}, y: {kind: 'time', title: 'simulated'},
          datasets: () => [...scattered(), ...equal()], describe}),
      ];
    }, '');
  };

  const worst = points => table(
      [{name: 'ranks'}, {name: 'collective', text: true}, {name: 'size', format: bytes},
       {name: 'measured', format: time}, {name: 'simulated', format: time},
       {name: 'simulated / measured', format: value => value.toFixed(2)},
       {name: aim + ' interval', text: true}, {name: 'rows', text: true}, {name: 'as', text: true}],
      [...points].sort((a, b) => Math.abs(Math.log(b.ratio)) - Math.abs(Math.log(a.ratio)))
          .slice(0, 25).map(point => [point.ranks, point.collective, point.size, point.measured,
                                      point.simulated, point.ratio, intervalText(point), point.seen,
                                      point.config]));

  // Tables of the fitted cells, and separate ones of the held-out cells.
  const errorsOf = part => [
    ...(part.sets.length < 2 ? [] :
        [element('h3', {}, `Error by parameter set, rows ${part.seen}`),
          errorTable('set', part.sets)]),
    element('h3', {}, `Error by size, rows ${part.seen}`), errorTable('size', part.sizes),
    element('h3', {}, `Error by ranks, rows ${part.seen}`), errorTable('ranks', part.ranks),
    element('h3', {}, `Error by collective, rows ${part.seen}`),
    errorTable('collective', part.collectives)];

  // Measured times of the simulator's choices.
  const ratio = value => value === null ? '-' : value.toFixed(3);
  const choices = decisions => [
    element('p', {class: 'muted'},
        'The numbers are the measured time of a choice over that of the best configuration that was forced for the ' +
        'call, as geometric means over groups of calls. A choice by chance is the null model.'),
    table([{name: 'system', text: true}, {name: 'groups'}, {name: 'simulator', format: ratio},
           {name: 'worst', format: ratio}, {name: 'best chosen', format: value => (100 * value).toFixed(0) + ' %'},
           {name: 'NCCL’s own', format: ratio}, {name: 'ring Simple', format: ratio},
           {name: 'by chance', format: ratio},
           {name: 'rank correlation', format: value => value.toFixed(2)}], decisions.summaries),
    element('h3', {}, 'Groups with the largest regret'),
    table([{name: 'system', text: true}, {name: 'ranks'}, {name: 'collective', text: true},
           {name: 'size', format: bytes}, {name: 'regret', format: ratio}, {name: 'chosen', text: true},
           {name: 'measured', format: time}, {name: 'best', text: true}, {name: 'measured', format: time},
           {name: 'NCCL’s own', format: ratio}, {name: 'rows', text: true}],
          decisions.groups.filter(row => row[4] > 1).sort((a, b) => b[4] - a[4]).slice(0, 25))];

  cclgymPage.opening('Predicted and measured', data.file, data.outcome, []);
  page.append(errorTable('system', data.table));
  if (data.coverage.rows.length) page.append(section('Intervals', () => coverage(data.coverage.rows)));
  if (data.decisions) page.append(section('Choices', () => choices(data.decisions)));
  for (const system of data.systems) {
    const points = pointsOf(system);
    page.append(section(system.name, () => [
      element('p', {class: 'muted'}, 'parameter set ' + system.cost_model),
      ...plotsOf(system.name, points), ...system.parts.flatMap(errorsOf),
      element('h3', {}, 'Worst cells'), worst(points)]));
  }
  if (data.refused.length) {
    page.append(section('Not simulated', () => [table(
        [{name: 'system', text: true}, {name: 'rows'}, {name: 'reason', text: true}],
        data.refused)]));
  }
  page.append(element('footer', {}, `Made by cclgym ${data.version}. Plots by Chart.js (MIT licence).`));
  cclgymPage.contents();
})();
