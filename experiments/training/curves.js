// Learning curves: one line per seed and measure against the iteration; a vertical line marks the
// end of the warm start.
'use strict';

(() => {
  const {data, element, format, drawing} = report;

  const curves = data.curves.map(curve => {
    const column = Object.fromEntries(curve.columns.map((name, i) => [name, i]));
    const of = (row, name) => row[column[name]];
    const cloned = curve.rows.filter(row => of(row, 'phase') === 'warm-start');
    return {
      seed: curve.seed, columns: curve.columns,
      warm: cloned.length ? of(cloned[cloned.length - 1], 'iteration') : 0,
      last: curve.rows.length ? of(curve.rows[curve.rows.length - 1], 'iteration') : 1,
      points: name => curve.rows.filter(row => report.isNumber(of(row, name))).map(row => (
          {x: of(row, 'iteration'), y: of(row, name), calls: of(row, 'calls'), seed: curve.seed})),
    };
  });

  const warmLine = {
    afterDraw: chart => {
      const warm = Math.max(...curves.map(curve => curve.warm));
      const {ctx, chartArea: area, scales: {x}} = chart;
      if (warm <= 0 || warm >= x.max) return;
      const at = x.getPixelForValue(warm);
      ctx.save();
      ctx.strokeStyle = ctx.fillStyle = drawing.ink().muted;
      ctx.setLineDash([5, 4]);
      ctx.beginPath();
      ctx.moveTo(at, area.top);
      ctx.lineTo(at, area.bottom);
      ctx.stroke();
      ctx.font = `12px ${getComputedStyle(document.body).fontFamily}`;
      ctx.textBaseline = 'top';
      ctx.textAlign = 'right';
      // A short phase has no room for its name.
      const fits = (text, room) => ctx.measureText(text).width + 6 <= room;
      if (fits('warm start', at - area.left)) ctx.fillText('warm start', at - 6, area.top + 2);
      ctx.textAlign = 'left';
      if (fits('learning', area.right - at)) ctx.fillText('learning', at + 6, area.top + 2);
      ctx.restore();
    },
  };

  // lines: [{name, column, dash}], each drawn once per seed.
  const curvePlot = (title, lines, yTitle) => {
    const datasets = () => lines.flatMap(line => curves.map((curve, i) => {
      const points = curve.points(line.column).map(point => ({...point, name: line.name}));
      return {
        data: points, borderColor: drawing.palette(i), backgroundColor: drawing.palette(i),
        borderDash: line.dash, borderWidth: 2, tension: 0, pointHoverRadius: 5, pointHitRadius: 6,
        pointRadius: points.length <= 30 ? 2.5 : 0,
      };
    }));
    return cclgymPage.plot({
      title, datasets, plugins: [warmLine],
      x: {kind: 'linear', title: 'Iteration',
        range: {min: 0, max: Math.max(...curves.map(curve => curve.last))}},
      y: {kind: 'linear', title: yTitle},
      describe: raw => [`${raw.name}, seed ${raw.seed}`, report.format.digits(raw.y, 5),
        `iteration ${raw.x}, ${raw.calls.toLocaleString('en')} calls`],
    });
  };

  report.curvesSection = () => {
    if (!curves.some(curve => curve.last > 0 && curve.columns.length)) return [];
    const dashes = [[], [6, 4], [2, 3], [9, 3, 2, 3]];
    const measured = what => curves[0].columns.filter(name => name.endsWith(':' + what))
        .map((column, i) => (
            {name: column.slice(0, -what.length - 1), column, dash: dashes[i % dashes.length]}));
    const shown = lines => lines.filter(line =>
        curves.some(curve => curve.points(line.column).length > 0));
    const ratios = shown(measured('oracle_ratio'));
    const rewards = shown(measured('mean_reward'));
    const plots = [];
    if (ratios.length) plots.push(curvePlot('Time / the oracle\'s, as measured', ratios, '× oracle'));
    plots.push(curvePlot('Mean reward of the training calls',
        [{name: 'mean reward', column: 'mean_reward', dash: []}], 'reward'));
    if (!ratios.length && rewards.length) {
      plots.push(curvePlot('Mean reward, as measured', rewards, 'reward'));
    }
    plots.push(curvePlot('Entropy of the choices',
        [{name: 'entropy', column: 'entropy_nat', dash: []}], 'nat'));
    const legend = element('div', {class: 'legend'});
    const fillLegend = () => legend.replaceChildren(
        ...curves.map((curve, i) => element('span', {class: 'key'},
            drawing.swatch(drawing.palette(i)), `seed ${curve.seed}`)),
        ...(ratios.length ? ratios : rewards).map(line => element('span', {class: 'key'},
            drawing.line(line.dash), line.name)));
    fillLegend();
    const {grid} = cclgymPage.plotGrid(plots, fillLegend, '');
    const calls = Math.max(...curves.map(curve => curve.points('calls')
        .reduce((most, point) => Math.max(most, point.y), 0)));
    return [element('p', {class: 'muted'}, `${format.count(curves.length, 'seed')}, up to ` +
                `${calls.toLocaleString('en')} calls. Point at a line for the values.`),
            legend, grid];
  };
})();
