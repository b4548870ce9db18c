// Plots of a block: time, bus bandwidth and speedup against size. Colour shows the algorithm, dash
// the protocol, line width the number of channels; measured times are points.
'use strict';

(() => {
  const {element, format} = report;
  const {axes, palette, ink, faded, swatch, line, marker, chip, chipGroup} =
      {...cclgymPage, axes: cclgymAxes};

  const dashes = {Simple: [], LL128: [9, 4], LL: [2, 3]};
  const dashOf = protocol => dashes[protocol] || [6, 3, 1, 3];  // the last is for tuners
  const markers = ['triangle', 'rectRot', 'circle', 'rect', 'star', 'cross'];

  const algorithms = report.distinct(report.rows.map(row => row.algorithm));
  const colour = algorithm => palette(algorithms.indexOf(algorithm));
  // Measured series take the colours that follow the algorithms' colours.
  const measuredColour = i => palette(algorithms.length + i);

  const metrics = {
    time: {
      title: 'Time', value: point => point.time_us, kind: 'time', measured: (us) => us,
    },
    busbw: {
      title: 'Bus bandwidth (GB/s)', value: point => point.busbw, kind: 'linear',
      measured: (us, bytes, block) => bytes / us / 1e3 * block.bus_factor,
    },
    speedup: {
      title: 'Speedup over ' + report.data.baseline, value: point => point.speedup, kind: 'ratio',
      measured: null,
    },
  };

  function seriesOf(block) {
    const configs = report.configsOf(block);
    const groups = new Map();
    for (const config of configs) {
      const key = report.seriesName(config);
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(config);
    }
    const best = [...groups.values()].map(group => ({
      algorithm: group[0].algorithm, channels: null, points: report.bestOf(group),
      protocol: report.isChosen(group[0]) ? null : group[0].protocol,
    }));
    // All choices of a tuner form one line.
    const chosen = best.filter(series => series.protocol === null);
    return {configs: [...configs.filter(config => !report.isChosen(config)), ...chosen], best};
  }

  // State of a block's plots: the series that its legend has switched off.
  function plotsOf(block) {
    const {configs, best} = seriesOf(block);
    const given = values => report.distinct(values.filter(value => value !== null));
    const protocols = given(configs.map(config => config.protocol));
    const channels = given(configs.map(config => config.channels)).sort((a, b) => a - b);
    const used = algorithms.filter(name => configs.some(config => config.algorithm === name));
    const hidden = new Set();
    let allChannels = false;

    const datasets = metric => {
      const shown = (allChannels ? configs : best).filter(series =>
          !hidden.has('a' + series.algorithm) && !hidden.has('p' + series.protocol) &&
          !(allChannels && hidden.has('c' + series.channels)));
      const sets = shown.map(series => {
        const place = series.channels === null ? 1 :
            channels.indexOf(series.channels) / Math.max(1, channels.length - 1);
        const stroke = allChannels ? faded(colour(series.algorithm), 0.3 + 0.7 * place) :
                                     colour(series.algorithm);
        const data = series.points.map(point => ({x: point.bytes, y: metric.value(point), point}))
                         .filter(point => report.isNumber(point.y));
        return {
          data, borderColor: stroke, backgroundColor: stroke,
          borderWidth: allChannels ? 0.8 + 1.2 * place : 2,
          borderDash: dashOf(series.protocol),
          pointRadius: data.length < 2 ? 3 : allChannels ? 0 : 1.6, pointHitRadius: 6,
          pointHoverRadius: 5, tension: 0, clip: false,
        };
      });
      if (!metric.measured) return sets;
      block.measured.forEach((series, i) => {
        if (hidden.has('m' + i)) return;
        sets.unshift({
          data: series.points.map(([bytes, us]) => (
              {x: bytes, y: metric.measured(us, bytes, block), measured: {series, us, bytes}})),
          showLine: false, pointStyle: markers[i % markers.length], pointRadius: 4.5,
          pointHoverRadius: 6, pointBorderWidth: 1.5, borderColor: measuredColour(i), clip: false,
          pointBorderColor: measuredColour(i), pointBackgroundColor: faded(ink().back, 0.6),
        });
      });
      return sets;
    };

    const valuesOf = raw => {
      if (raw.measured) {
        const {series, us, bytes} = raw.measured;
        const best = block.sizes.find(size => size.bytes === bytes);
        return [
          'time ' + format.time(us),
          'busbw ' + format.rate(metrics.busbw.measured(us, bytes, block)),
          best ? 'best simulated / measured ' + format.ratio(best.best.time_us / us) : null,
          'source ' + series.source,
        ].filter(text => text);
      }
      const point = raw.point;
      const spread = point.max_us > point.min_us ?
          ` (${format.time(point.min_us)} to ${format.time(point.max_us)})` : '';
      const lines = [
        'time ' + format.time(point.time_us) + spread, 'algbw ' + format.rate(point.algbw),
        'busbw ' + format.rate(point.busbw),
      ];
      if (report.isNumber(point.speedup)) lines.push('speedup ' + format.ratio(point.speedup) + '×');
      for (const series of block.measured) {
        const same = series.points.find(([bytes]) => bytes === point.bytes);
        if (same) {
          lines.push(`simulated / measured ${series.config} ` + format.ratio(point.time_us / same[1]));
        }
      }
      return lines;
    };

    const describe = raw => [
      raw.measured ? `measured: ${raw.measured.series.config} on ${raw.measured.series.system}` :
                     report.configName(raw.point.config),
      ...valuesOf(raw),
    ];

    const sizes = report.distinct([...block.sizes.map(size => size.bytes),
      ...block.measured.flatMap(series => series.points.map(point => point[0]))]);
    const shown = [metrics.time, metrics.busbw];
    if (block.sizes.some(size => report.isNumber(size.best.speedup))) shown.push(metrics.speedup);
    const plots = shown.map(metric => cclgymPage.plot({
      title: metric.title, label: metric.title + ' against size, ' + report.blockTitle(block),
      x: {kind: 'size', title: 'Size', values: sizes}, y: {kind: metric.kind, zero: true},
      datasets: () => datasets(metric), describe,
    }));

    const legend = element('div', {class: 'legend'});
    const fillLegend = () => {
      const chipOf = (key, label, picture) => chip(hidden, key, label, picture, () => update());
      legend.replaceChildren(
          chipGroup('Algorithm', used.map(name => chipOf('a' + name, name, swatch(colour(name))))),
          chipGroup('Protocol', protocols.map(name =>
              chipOf('p' + name, name, line(dashOf(name))))));
      if (block.measured.length) {
        legend.append(chipGroup('Measured', block.measured.map((series, i) =>
            chipOf('m' + i, `${series.config} on ${series.system}`,
                marker(markers[i % markers.length], measuredColour(i))))));
      }
      if (configs.length > best.length) {
        const box = element('input', {type: 'checkbox', onchange: () => {
          allChannels = box.checked;
          counts.hidden = !allChannels;
          update();
        }});
        box.checked = allChannels;
        const counts = chipGroup('Channels', channels.map(count =>
            chipOf('c' + count, String(count), null)));
        counts.hidden = !allChannels;
        legend.append(element('label', {class: 'group'}, box,
            ' every configuration, not only the best at each size'), counts);
      }
    };
    fillLegend();
    const {grid, update} = cclgymPage.plotGrid(plots, fillLegend, '');
    return [legend, grid];
  }

  report.plotsOf = plotsOf;
  // Shared with the other plots of the page.
  report.drawing = {colour, dashOf, drawWhenNear: cclgymPage.drawWhenNear, faded, ink,
                    isDark: cclgymPage.isDark, line, marker, palette, swatch};
})();
