// The plots of all pages: axes that follow what is shown, and a tooltip beside the point.
'use strict';

(() => {
  const {element, ink, axes} = {...cclgymPage, axes: cclgymAxes};
  const all = [];

  const tip = element('div', {class: 'tip', role: 'tooltip', hidden: true});
  document.body.append(tip);

  // A place for a box of the given size that leaves the point free: right of it, left of it, above
  // or below, whichever first fits the window.
  const placeBeside = (point, width, height, window_width, window_height) => {
    const gap = 12;
    const within = (value, size, room) => Math.max(2, Math.min(value, room - size - 2));
    const top = within(point.y - height / 2, height, window_height);
    if (point.x + gap + width <= window_width) return {left: point.x + gap, top};
    if (point.x - gap - width >= 0) return {left: point.x - gap - width, top};
    const left = within(point.x - width / 2, width, window_width);
    return point.y - gap - height >= 0 ? {left, top: point.y - gap - height} :
        {left, top: point.y + gap};
  };
  cclgymPage.placeBeside = placeBeside;

  const showTip = (spec, {chart, tooltip}) => {
    const items = tooltip.opacity ? (tooltip.dataPoints || [])
                                        .filter(one => spec.describe && spec.describe(one.raw)) : [];
    tip.hidden = !items.length;
    if (!items.length) return;
    const {raw, element: mark} = items[0];
    const [title, ...lines] = spec.describe(raw);
    const size = spec.x.kind === 'size' ? `, ${axes.sizeText(raw.x)}` : '';
    tip.replaceChildren(element('b', {}, title + size),
        ...lines.filter(text => text).map(text => element('div', {}, text)));
    const canvas = chart.canvas.getBoundingClientRect();
    const place = placeBeside({x: canvas.left + mark.x, y: canvas.top + mark.y}, tip.offsetWidth,
        tip.offsetHeight, document.documentElement.clientWidth, innerHeight);
    tip.style.left = place.left + 'px';
    tip.style.top = place.top + 'px';
  };
  addEventListener('scroll', () => { tip.hidden = true; }, {passive: true});

  const valuesOf = (datasets, key) => datasets.filter(one => !one.aside)
      .flatMap(one => one.data.map(point => point[key]))
      .filter(value => typeof value === 'number' && isFinite(value));

  const ticksOf = values => values.map(value => ({value}));

  // The options of an axis of the given kind for the datasets that are shown.
  const axisOf = (spec, key, datasets) => {
    const axis = spec[key];
    const options = {
      grid: {color: ink().grid, drawBorder: false},
      title: {display: Boolean(axis.title), text: axis.title, color: ink().muted},
      ticks: {color: ink().muted, maxRotation: 0},
    };
    const logarithmic = (range, ticks, text) => {
      Object.assign(options, {type: 'logarithmic', ...range});
      options.afterBuildTicks = made => { made.ticks = ticksOf(ticks(made)); };
      options.ticks = {...options.ticks, autoSkip: false, callback: text};
    };
    const shown = valuesOf(datasets, key);
    const values = shown.length ? shown : [1, 2];
    if (axis.kind === 'size') {
      let [min, max] = axis.range || [axes.least(values), axes.most(values)];
      if (min === max) [min, max] = [min / 2, max * 2];
      logarithmic({min, max}, made => {
        made.ctx.font = `12px ${getComputedStyle(document.body).fontFamily}`;
        const widest = axes.most(axis.values.map(size =>
            made.ctx.measureText(axes.sizeText(size)).width));
        return axes.sizeTicks(axis.values, min, max, (made.chart.width - 70) / (widest + 10));
      }, axes.sizeText);
    } else if (axis.kind === 'time') {
      logarithmic(axes.timeRange(values), made => axes.timeTicks(made.min, made.max), axes.timeText);
    } else if (axis.kind === 'ratio') {
      const range = axis.range ? axis.range(values) : axes.ratioRange(values);
      logarithmic(range, made => axes.ratioTicks(made.min, made.max), axes.ratioText);
      options.grid.color = context => context.tick && context.tick.value === 1 ? ink().muted :
                                                                                ink().grid;
    } else if (axis.kind === 'names') {
      Object.assign(options, {type: 'linear', min: -0.5, max: axis.names.length - 0.5});
      options.afterBuildTicks = made => { made.ticks = ticksOf(axis.names.map((_, i) => i)); };
      options.ticks = {...options.ticks, autoSkip: false, callback: value => axis.names[value]};
    } else {
      Object.assign(options, {type: 'linear', ...axis.range, beginAtZero: Boolean(axis.zero)});
      options.ticks = {...options.ticks, autoSkipPadding: 12, maxTicksLimit: 9};
      if (axis.text) options.ticks.callback = axis.text;
    }
    return options;
  };

  // A plot: {title, label, height (a class), x and y (axes), datasets(), describe(raw) → [title,
  // line, …], plugins}. Axes are {kind, title}; kind 'size' has `values`, the sizes that were run,
  // 'names' has `names`, and 'linear' may have `range`, `zero` and `text`. A dataset with `aside`
  // does not count for the ranges. Returns the figure with its draw() and update().
  cclgymPage.plot = spec => {
    const canvas = element('canvas', {role: 'img', 'aria-label': spec.label || spec.title});
    const figure = element('figure', {}, element('figcaption', {}, spec.title),
        element('div', {class: 'canvas' + (spec.height ? ' ' + spec.height : '')}, canvas));
    let chart = null;
    const scales = datasets => ({x: axisOf(spec, 'x', datasets), y: axisOf(spec, 'y', datasets)});
    const draw = () => {
      if (chart) return;
      const datasets = spec.datasets();
      chart = new Chart(canvas, {
        type: 'line', data: {datasets}, plugins: spec.plugins || [],
        options: {
          // Room for points at the edges.
          layout: {padding: {top: 7, right: 14}},
          animation: false, maintainAspectRatio: false, parsing: false, normalized: true,
          font: {family: getComputedStyle(document.body).fontFamily},
          interaction: {mode: 'nearest', intersect: false, axis: spec.nearest || 'xy'},
          scales: scales(datasets),
          plugins: {
            legend: {display: false},
            tooltip: {enabled: false, external: context => showTip(spec, context)},
          },
        },
      });
    };
    const update = () => {
      if (!chart) return;
      const datasets = spec.datasets();
      chart.data.datasets = datasets;
      chart.options.scales = scales(datasets);
      chart.update('none');
    };
    return {figure, draw, update};
  };

  // Plots side by side, made when they come near the view. `recolour` is called before the plots
  // are drawn anew in other colours.
  cclgymPage.plotGrid = (plots, recolour, style = 'wide') => {
    const grid = element('div', {class: `plots ${style}` + (plots.length === 1 ? ' alone' : '')},
        ...plots.map(plot => plot.figure));
    const update = () => { for (const plot of plots) plot.update(); };
    cclgymPage.drawWhenNear(grid, () => { for (const plot of plots) plot.draw(); },
        () => { if (recolour) recolour(); update(); });
    return {grid, update};
  };

  cclgymPage.drawWhenNear = (node, draw, recolour) => {
    all.push({draw, recolour});
    new IntersectionObserver((entries, observer) => {
      if (!entries.some(entry => entry.isIntersecting)) return;
      observer.disconnect();
      draw();
    }, {rootMargin: '600px'}).observe(node);
  };

  // Plots of the same series with one legend; makePlots(shown, colour) returns the plots, where
  // shown(name) says whether a series is shown.
  cclgymPage.plotsWithLegend = (heading, names, makePlots, style) => {
    const hidden = new Set();
    const colour = name => cclgymPage.palette(names.indexOf(name));
    const legend = element('div', {class: 'legend'});
    let update = () => {};
    const fill = () => legend.replaceChildren(cclgymPage.chipGroup(heading, names.map(name =>
        cclgymPage.chip(hidden, name, name, cclgymPage.swatch(colour(name)), () => update()))));
    fill();
    const made = cclgymPage.plotGrid(makePlots(name => !hidden.has(name), colour), fill, style);
    update = made.update;
    return names.length > 1 ? [legend, made.grid] : [made.grid];
  };

  const recolour = () => { for (const one of all) one.recolour(); };
  cclgymPage.dark.addEventListener('change', recolour);
  cclgymPage.prints.push(before => {
    if (before) for (const one of all) one.draw();
    recolour();
  });
})();
