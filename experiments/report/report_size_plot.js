// A single plot of any quantity against size, with bands behind its lines.
'use strict';

(() => {
  const {element, format, drawing} = report;

  // Ticks 1, 1.5, 2, 3, 4, 6, … within an axis; narrow axes also get values between these, very
  // narrow ones at most nine round numbers.
  const ratioTicks = (min, max) => {
    const ticks = [];
    if (max / min < 1.6) {
      const step = [0.01, 0.02, 0.05, 0.1].find(each => (max - min) / each <= 8) || 0.1;
      for (let i = Math.ceil(min / step); i * step <= max; ++i) {
        ticks.push({value: Number((i * step).toFixed(2))});
      }
      return ticks;
    }
    const factors = max / min < 3 ? [1, 1.25, 1.5, 1.75] : max / min < 40 ? [1, 1.5] : [1];
    for (let power = Math.floor(Math.log2(min)); power <= Math.log2(max); ++power) {
      for (const factor of factors) {
        const value = factor * 2 ** power;
        if (value >= min * 0.999 && value <= max * 1.001) ticks.push({value});
      }
    }
    return ticks;
  };

  // Draws a band {from, to (null: no end), low, high, outerLow, outerHigh} as a box inside a
  // lighter one.
  const drawBand = (chart, band) => {
    const {ctx, chartArea: area, scales: {x, y}} = chart;
    // A single size is half a power of two wide; a single value is as high as its line.
    const single = band.to === band.from;
    const left = x.getPixelForValue(single ? band.from / 2 ** 0.25 : band.from);
    const right = band.to === null ? area.right :
        x.getPixelForValue(single ? band.to * 2 ** 0.25 : band.to);
    const tone = drawing.isDark() ? '#ffffff' : '#1b1e23';
    const box = (low, high, fill, edge) => {
      const top = y.getPixelForValue(high);
      const bottom = y.getPixelForValue(low);
      ctx.fillStyle = fill;
      ctx.fillRect(left, top, right - left, bottom - top);
      if (!edge) return;
      ctx.strokeStyle = edge;
      ctx.lineWidth = 1.5;
      ctx.strokeRect(left, top, right - left, Math.max(bottom - top, 0.1));
    };
    ctx.save();
    ctx.beginPath();
    ctx.rect(area.left, area.top, area.width, area.height);
    ctx.clip();
    box(band.outerLow, band.outerHigh, drawing.faded(tone, 0.07), null);
    box(band.low, band.high, drawing.faded(tone, 0.16), drawing.faded(tone, 0.6));
    ctx.restore();
  };

  const drawNote = (chart, note) => {
    const {ctx, chartArea: area} = chart;
    ctx.save();
    ctx.font = `600 13px ${getComputedStyle(document.body).fontFamily}`;
    ctx.fillStyle = drawing.ink().text;
    ctx.textAlign = 'right';
    ctx.textBaseline = 'top';
    ctx.fillText(note, area.right - 4, area.top + 4);
    ctx.restore();
  };

  // options: title, sizes [min, max], range {min, max} (of ratios) or categories [names, bottom
  // first], height (a class), datasets() and bands(), note, describe(raw) → [title, line, …].
  // Returns the figure with its draw() and update().
  report.sizePlot = options => {
    const canvas = element('canvas', {role: 'img', 'aria-label': options.title});
    const figure = element('figure', {}, element('figcaption', {}, options.title),
        element('div', {class: 'canvas' + (options.height ? ' ' + options.height : '')}, canvas));
    let [least, most] = options.sizes;
    if (least === most) [least, most] = [least / 2, most * 2];
    let chart = null;
    const colours = () => ({
      tick: drawing.ink().muted,
      grid: context => !options.categories && context.tick && context.tick.value === 1 ?
          drawing.ink().muted : drawing.ink().grid,
    });
    const draw = () => {
      if (chart) return;
      const x = {
        type: 'logarithmic', min: least, max: most,
        grid: {color: drawing.ink().grid, drawBorder: false},
        title: {display: true, text: 'Size', color: drawing.ink().muted},
        afterBuildTicks: axis => { axis.ticks = drawing.powersOfTwo(axis.min, axis.max, 8); },
        ticks: {color: colours().tick, maxRotation: 0, autoSkip: false, callback: format.bytes},
      };
      const y = {grid: {color: colours().grid, drawBorder: false}, ticks: {color: colours().tick}};
      if (options.categories) {
        Object.assign(y, {type: 'linear', min: -0.5, max: options.categories.length - 0.5});
        y.afterBuildTicks = axis => { axis.ticks = options.categories.map((_, value) => ({value})); };
        y.ticks.callback = value => options.categories[value];
        y.ticks.autoSkip = false;
      } else {
        Object.assign(y, {type: 'logarithmic', ...options.range});
        y.afterBuildTicks = axis => { axis.ticks = ratioTicks(axis.min, axis.max); };
        y.ticks.callback = value => value + '×';
      }
      chart = new Chart(canvas, {
        type: 'line', data: {datasets: options.datasets()},
        plugins: [{
          beforeDatasetsDraw: shown => {
            for (const band of options.bands ? options.bands() : []) drawBand(shown, band);
          },
          afterDatasetsDraw: shown => { if (options.note) drawNote(shown, options.note); },
        }],
        options: {
          layout: {padding: {top: 7, right: 9}},
          animation: false, maintainAspectRatio: false, parsing: false, normalized: true,
          font: {family: getComputedStyle(document.body).fontFamily},
          interaction: {mode: 'nearest', intersect: false, axis: 'xy'},
          scales: {x, y},
          plugins: {
            legend: {display: false},
            tooltip: {
              displayColors: false, padding: 9, filter: (item, i) => i === 0,
              backgroundColor: () => drawing.isDark() ? '#3b434df2' : '#1b1e23eb',
              callbacks: {
                title: items => options.describe(items[0].raw)[0],
                label: item => options.describe(item.raw).slice(1),
              },
            },
          },
        },
      });
    };
    const update = () => {
      if (!chart) return;
      chart.data.datasets = options.datasets();
      const {x, y} = chart.options.scales;
      x.ticks.color = y.ticks.color = x.title.color = colours().tick;
      x.grid.color = drawing.ink().grid;
      chart.update('none');
    };
    return {figure, draw, update};
  };

  // A heading with plots side by side, each drawn when it comes near the view.
  report.plotGrid = (plots, recolour) => {
    const grid = element('div', {class: 'plots wide' + (plots.length === 1 ? ' alone' : '')},
        ...plots.map(plot => plot.figure));
    const update = () => { for (const plot of plots) plot.update(); };
    drawing.drawWhenNear(grid, () => { for (const plot of plots) plot.draw(); },
        () => { if (recolour) recolour(); update(); });
    return {grid, update};
  };

  report.chip = (hidden, key, label, picture, update) => {
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
  report.chipGroup = (label, chips) => element('div', {class: 'group'},
      element('span', {}, label), ...chips);
})();
