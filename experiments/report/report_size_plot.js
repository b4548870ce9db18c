// A single plot of ratios or of names against size, with bands behind its lines.
'use strict';

(() => {
  const {drawing} = report;

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

  // options: title, values (the sizes that were run), sizes [min, max] (of the axis, if it is fixed),
  // range(values) → {min, max} (if it does not follow the ratios) or categories [names, bottom first],
  // height (a class), datasets() and bands(), note, describe(raw) → [title, line, …].
  report.sizePlot = options => cclgymPage.plot({
    title: options.title, height: options.height, datasets: options.datasets,
    describe: options.describe,
    x: {kind: 'size', title: 'Size', values: options.values, range: options.sizes},
    y: options.categories ? {kind: 'names', names: options.categories} :
                            {kind: 'ratio', range: options.range},
    plugins: [{
      beforeDatasetsDraw: shown => {
        for (const band of options.bands ? options.bands() : []) drawBand(shown, band);
      },
      afterDatasetsDraw: shown => { if (options.note) drawNote(shown, options.note); },
    }],
  });

  report.plotGrid = cclgymPage.plotGrid;
  report.chip = cclgymPage.chip;
  report.chipGroup = cclgymPage.chipGroup;
})();
