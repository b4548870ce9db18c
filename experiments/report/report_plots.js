// Plots of a block: time, bus bandwidth and speedup against size. Colour shows the algorithm, dash
// the protocol, line width the number of channels; measured times are points.
'use strict';

(() => {
  const {element, format} = report;
  const dark = matchMedia('(prefers-color-scheme: dark)');
  let printing = false;

  const palettes = {
    light: ['#1f6fc5', '#cf5410', '#16854a', '#8747c2', '#a87a00', '#c02a76', '#0d8385', '#666c75',
            '#4348c4', '#7d4a1c', '#557f00', '#b23a48'],
    dark: ['#6cb0ff', '#ff9d5c', '#5fd08f', '#c79fff', '#e8c04a', '#ff86bd', '#5fd3d5', '#b4bac3',
           '#9a9dff', '#d6a878', '#a5d152', '#ff9a9a'],
  };
  const dashes = {Simple: [], LL128: [9, 4], LL: [2, 3]};
  const dashOf = protocol => dashes[protocol] || [6, 3, 1, 3];  // the last is for tuners
  const markers = ['triangle', 'rectRot', 'circle', 'rect', 'star', 'cross'];

  const algorithms = report.distinct(report.rows.map(row => row.algorithm));
  const isDark = () => dark.matches && !printing;
  const palette = i => {
    const colours = isDark() ? palettes.dark : palettes.light;
    return colours[i % colours.length];
  };
  const colour = algorithm => palette(algorithms.indexOf(algorithm));
  // Measured series take the colours that follow the algorithms' colours.
  const measuredColour = i => palette(algorithms.length + i);
  const ink = () => isDark() ?
      {text: '#e4e7eb', muted: '#9ba3ae', grid: '#2b3138', back: '#15181c'} :
      {text: '#1b1e23', muted: '#5d646e', grid: '#e6e9ed', back: '#ffffff'};
  const faded = (hex, alpha) => hex + Math.round(alpha * 255).toString(16).padStart(2, '0');

  // Small images for the legend.
  const svg = (width, inner) => {
    const box = element('span', {});
    box.innerHTML = `<svg width="${width}" height="12" viewBox="0 0 ${width} 12">${inner}</svg>`;
    return box.firstChild;
  };
  const swatch = fill => svg(12, `<rect width="12" height="12" rx="3" fill="${fill}"/>`);
  const line = dash => svg(30,
      `<line x1="0" y1="6" x2="30" y2="6" stroke="currentColor" stroke-width="2" ` +
      `stroke-dasharray="${dash.join(' ')}"/>`);
  const markerShapes = {
    triangle: '<path d="M6 1 11 10.5H1Z"/>', rectRot: '<path d="M6 0 12 6 6 12 0 6Z"/>',
    circle: '<circle cx="6" cy="6" r="4.5"/>', rect: '<path d="M1.5 1.5h9v9h-9Z"/>',
    star: '<path d="M6 0V12M0 6H12M2 2 10 10M10 2 2 10" stroke="currentColor"/>',
    cross: '<path d="M6 0V12M0 6H12" stroke="currentColor"/>',
  };
  const marker = (shape, stroke) => svg(12,
      `<g fill="none" color="${stroke}" stroke="${stroke}" stroke-width="1.6">` +
      markerShapes[shape] + '</g>');

  const metrics = {
    time: {
      title: 'Time', value: point => point.time_us, logarithmic: true, tick: timeTick,
      measured: (us) => us,
    },
    busbw: {
      title: 'Bus bandwidth (GB/s)', value: point => point.busbw, logarithmic: false,
      tick: value => value,
      measured: (us, bytes, block) => bytes / us / 1e3 * block.bus_factor,
    },
    speedup: {
      title: 'Speedup over ' + report.data.baseline, value: point => point.speedup, logarithmic: true,
      tick: value => value + '×', measured: null,
    },
  };

  function timeTick(us) {
    const [scale, unit] = us >= 1e6 ? [1e6, 's'] : us >= 1e3 ? [1e3, 'ms'] : us >= 1 ? [1, 'µs'] :
        [1e-3, 'ns'];
    return Number((us / scale).toPrecision(3)) + ' ' + unit;
  }

  // Powers of two (sizes) or 1-2-5 steps (values) within an axis, at most about `most`.
  function powersOfTwo(min, max, most) {
    const first = Math.ceil(Math.log2(min) - 1e-9);
    const last = Math.floor(Math.log2(max) + 1e-9);
    const step = Math.max(1, Math.ceil((last - first + 1) / most));
    const ticks = [];
    for (let power = first; power <= last; power += step) ticks.push({value: 2 ** power});
    return ticks;
  }
  function decades(min, max) {
    const inner = max / min < 30 ? [1, 2, 5] : [1];
    const ticks = [];
    for (let power = Math.floor(Math.log10(min)); power <= Math.log10(max); ++power) {
      for (const factor of inner) {
        const value = Number((factor * 10 ** power).toPrecision(1));
        if (value >= min * 0.999 && value <= max * 1.001) ticks.push({value});
      }
    }
    return ticks;
  }

  // Nearest 1-2-5 step below or above a value.
  function step(value, up) {
    const power = 10 ** Math.floor(Math.log10(value));
    const factors = [1, 2, 5, 10].map(factor => factor * power);
    return up ? factors.find(factor => factor >= value * 0.999) || 10 * power :
                factors.filter(factor => factor <= value * 1.001).pop();
  }

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
    const charts = [];

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

    const sizes = [...block.sizes.map(size => size.bytes),
                   ...block.measured.flatMap(series => series.points.map(point => point[0]))];
    let [least, most] = [Math.min(...sizes), Math.max(...sizes)];
    if (least === most) [least, most] = [least / 2, most * 2];

    // Independent of hidden series, so that lines do not move.
    const timeRange = () => {
      const times = [
        ...(allChannels ? configs : best).flatMap(series =>
            series.points.map(point => point.time_us)),
        ...block.measured.flatMap(series => series.points.map(point => point[1])),
      ];
      return {min: step(times.reduce((a, b) => Math.min(a, b)), false),
              max: step(times.reduce((a, b) => Math.max(a, b)), true)};
    };

    const speedupRange = () => {
      const speedups = (allChannels ? configs : best).flatMap(series =>
          series.points.map(point => point.speedup)).filter(report.isNumber);
      return {min: 2 ** Math.floor(Math.log2(speedups.reduce((a, b) => Math.min(a, b), 1))),
              max: 1.06 * speedups.reduce((a, b) => Math.max(a, b), 2)};
    };

    const describe = context => {
      const raw = context.raw;
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

    const makeChart = (metric, canvas) => {
      const axisColours = () => ({grid: {color: ink().grid, drawBorder: false}});
      const size = {
        type: 'logarithmic', min: least, max: most, ...axisColours(),
        title: {display: true, text: 'Size', color: ink().muted},
        afterBuildTicks: axis => { axis.ticks = powersOfTwo(axis.min, axis.max, 8); },
        ticks: {color: ink().muted, maxRotation: 0, autoSkip: false, callback: format.bytes},
      };
      const value = {
        type: metric.logarithmic ? 'logarithmic' : 'linear', beginAtZero: !metric.logarithmic,
        ...axisColours(), ticks: {color: ink().muted, callback: metric.tick},
      };
      if (metric === metrics.time) {
        Object.assign(value, timeRange());
        value.afterBuildTicks = axis => { axis.ticks = decades(axis.min, axis.max); };
      } else if (metric === metrics.speedup) {
        Object.assign(value, speedupRange());
        value.afterBuildTicks = axis => { axis.ticks = powersOfTwo(axis.min, axis.max, 8); };
        value.grid = {
          drawBorder: false, color: context => context.tick && context.tick.value === 1 ?
              ink().muted : ink().grid,
        };
      }
      const chart = new Chart(canvas, {
        type: 'line', data: {datasets: datasets(metric)},
        options: {
          // Room for points at the edges.
          layout: {padding: {top: 7, right: 9}},
          animation: false, maintainAspectRatio: false, parsing: false, normalized: true,
          font: {family: getComputedStyle(document.body).fontFamily},
          interaction: {mode: 'nearest', intersect: false, axis: 'xy'},
          scales: {x: size, y: value},
          plugins: {
            legend: {display: false},
            tooltip: {
              displayColors: false, padding: 9,
              backgroundColor: () => isDark() ? '#3b434df2' : '#1b1e23eb', callbacks: {
                title: items => {
                  const raw = items[0].raw;
                  const name = raw.measured ?
                      `measured: ${raw.measured.series.config} on ${raw.measured.series.system}` :
                      report.configName(raw.point.config);
                  return name + ', ' + format.bytes(raw.x);
                },
                label: describe,
              },
              filter: (item, i) => i === 0,
            },
          },
        },
      });
      charts.push({chart, metric});
    };

    const update = () => {
      for (const {chart, metric} of charts) {
        chart.data.datasets = datasets(metric);
        const {x, y} = chart.options.scales;
        for (const axis of [x, y]) axis.ticks.color = ink().muted;
        x.title.color = ink().muted;
        x.grid.color = ink().grid;
        if (metric !== metrics.speedup) y.grid.color = ink().grid;
        if (metric === metrics.time) Object.assign(y, timeRange());
        if (metric === metrics.speedup) Object.assign(y, speedupRange());
        chart.update('none');
      }
    };

    const chip = (key, label, picture) => {
      const button = element('button', {
        class: 'chip', type: 'button', 'aria-pressed': String(!hidden.has(key)),
        onclick: () => {
          if (!hidden.delete(key)) hidden.add(key);
          button.setAttribute('aria-pressed', String(!hidden.has(key)));
          update();
        },
      }, picture, label);
      return button;
    };
    const group = (label, chips) => element('div', {class: 'group'}, element('span', {}, label),
        ...chips);
    const legend = element('div', {class: 'legend'});
    const fillLegend = () => {
      legend.replaceChildren(
          group('Algorithm', used.map(name => chip('a' + name, name, swatch(colour(name))))),
          group('Protocol', protocols.map(name =>
              chip('p' + name, name, line(dashOf(name))))));
      if (block.measured.length) {
        legend.append(group('Measured', block.measured.map((series, i) =>
            chip('m' + i, `${series.config} on ${series.system}`,
                marker(markers[i % markers.length], measuredColour(i))))));
      }
      if (configs.length > best.length) {
        const box = element('input', {type: 'checkbox', onchange: () => {
          allChannels = box.checked;
          counts.hidden = !allChannels;
          update();
        }});
        box.checked = allChannels;
        const counts = group('Channels', channels.map(count =>
            chip('c' + count, String(count), null)));
        counts.hidden = !allChannels;
        legend.append(element('label', {class: 'group'}, box,
            ' every configuration, not only the best at each size'), counts);
      }
    };
    fillLegend();

    const shown = [metrics.time, metrics.busbw];
    if (block.sizes.some(size => report.isNumber(size.best.speedup))) shown.push(metrics.speedup);
    const plots = element('div', {class: 'plots'});
    const waiting = shown.map(metric => {
      const canvas = element('canvas', {role: 'img',
        'aria-label': metric.title + ' against size, ' + report.blockTitle(block)});
      plots.append(element('figure', {}, element('figcaption', {}, metric.title),
          element('div', {class: 'canvas'}, canvas)));
      return () => makeChart(metric, canvas);
    });
    const draw = () => { while (waiting.length) waiting.shift()(); };
    drawWhenNear(plots, draw, () => { fillLegend(); update(); });
    return [legend, plots];
  }

  // Hundreds of plots would make the page slow to open, so each is drawn when it comes near the
  // view.
  function drawWhenNear(plots, draw, recolour) {
    all.push({draw, recolour});
    new IntersectionObserver((entries, observer) => {
      if (!entries.some(entry => entry.isIntersecting)) return;
      observer.disconnect();
      draw();
    }, {rootMargin: '600px'}).observe(plots);
  }

  const all = [];
  const recolour = () => { for (const plots of all) plots.recolour(); };
  dark.addEventListener('change', recolour);
  addEventListener('beforeprint', () => {
    printing = true;
    for (const plots of all) plots.draw();
    recolour();
  });
  addEventListener('afterprint', () => {
    printing = false;
    recolour();
  });

  report.plotsOf = plotsOf;
  // Shared with the other plots of the page.
  report.drawing = {colour, dashOf, drawWhenNear, faded, ink, isDark, line, marker, palette,
                    powersOfTwo, swatch};
})();
