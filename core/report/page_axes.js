// Ranges, ticks and texts of axes, as functions of numbers alone. svg_plot.cpp has the same rules.
'use strict';

const cclgymAxes = (() => {
  const kUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

  // At most three digits in the largest unit: "64KiB", "1.41MiB".
  const sizeText = bytes => {
    if (!(bytes > 0)) return '0B';
    const unit = Math.min(Math.max(Math.floor(Math.log2(bytes) / 10 + 1e-9), 0), 4);
    const value = bytes / 1024 ** unit;
    return (value >= 1000 ? Math.round(value) : Number(value.toPrecision(3))) + kUnits[unit];
  };
  const timeText = us => {
    const [scale, unit] = us >= 1e6 ? [1e6, 's'] : us >= 1e3 ? [1e3, 'ms'] : us >= 1 ? [1, 'µs'] :
        [1e-3, 'ns'];
    return Number((us / scale).toPrecision(3)) + ' ' + unit;
  };
  // Powers of two below one as fractions: "1/4×", "1×", "1.5×".
  const ratioText = ratio => {
    const power = Math.log2(ratio);
    return power < 0 && Number.isInteger(power) ? `1/${2 ** -power}×` :
        Number(ratio.toPrecision(4)) + '×';
  };

  // Thins the sizes that were run to every k-th, with the least k whose labels stay apart: `room` is
  // the length of the axis in widths of a label.
  const sizeTicks = (sizes, min, max, room) => {
    const inside = [...new Set(sizes)].filter(size => size >= min && size <= max)
                       .sort((a, b) => a - b);
    const length = Math.log(max / min) || 1;
    for (let step = 1; step < inside.length; ++step) {
      const ticks = inside.filter((_, i) => i % step === 0);
      const apart = ticks.every((size, i) =>
          i === 0 || Math.log(size / ticks[i - 1]) / length * room >= 1);
      if (apart) return ticks;
    }
    return inside.slice(0, 1);
  };

  // 1/4, 1/2, 1, 2, 4, …; narrow axes have values between them, very narrow ones round numbers.
  const ratioTicks = (min, max) => {
    const ticks = [];
    if (max / min < 1.6) {
      const step = [0.01, 0.02, 0.05, 0.1].find(each => (max - min) / each <= 8) || 0.1;
      for (let i = Math.ceil(min / step - 1e-9); i * step <= max * (1 + 1e-9); ++i) {
        ticks.push(Number((i * step).toFixed(2)));
      }
      return ticks;
    }
    const factors = max / min < 3 ? [1, 1.25, 1.5, 1.75] : max / min < 6 ? [1, 1.5] : [1];
    const powers = Math.log2(max / min);
    const every = Math.max(1, Math.ceil(powers / 8));
    for (let power = Math.floor(Math.log2(min)); power <= Math.log2(max) + 1e-9; ++power) {
      if (power % every !== 0) continue;
      for (const factor of factors) {
        const value = factor * 2 ** power;
        if (value >= min * 0.999 && value <= max * 1.001) ticks.push(value);
      }
    }
    return ticks;
  };

  // 1, 2, 5, 10, … on short axes, otherwise powers of ten.
  const timeTicks = (min, max) => {
    const inner = max / min < 30 ? [1, 2, 5] : [1];
    const ticks = [];
    for (let power = Math.floor(Math.log10(min)); power <= Math.log10(max) + 1e-9; ++power) {
      for (const factor of inner) {
        const value = Number((factor * 10 ** power).toPrecision(1));
        if (value >= min * 0.999 && value <= max * 1.001) ticks.push(value);
      }
    }
    return ticks;
  };

  // Nearest 1-2-5 step below or above a value.
  const step = (value, up) => {
    const power = 10 ** Math.floor(Math.log10(value));
    const factors = [1, 2, 5, 10].map(factor => factor * power);
    return up ? factors.find(factor => factor >= value * 0.999) || 10 * power :
                factors.filter(factor => factor <= value * 1.001).pop();
  };
  const least = values => values.reduce((a, b) => Math.min(a, b), Infinity);
  const most = values => values.reduce((a, b) => Math.max(a, b), -Infinity);

  const timeRange = values => {
    const [min, max] = [step(least(values), false), step(most(values), true)];
    return min < max ? {min, max} : {min: min / 2, max: max * 2};
  };
  // Has 1 inside, and whole powers of two at the ends unless the ratios are close together.
  const ratioRange = values => {
    const [min, max] = [Math.min(least(values), 1), Math.max(most(values), 1)];
    if (max / min < 1.6) return {min: min * 0.98, max: max * 1.03};
    return {min: 2 ** Math.floor(Math.log2(min) + 1e-9), max: Math.max(2, 1.06 * max)};
  };

  return {sizeText, timeText, ratioText, sizeTicks, ratioTicks, timeTicks, timeRange, ratioRange,
          least, most};
})();
