// Choices of each policy as steps and rounds per chunk (SCCL's alpha and beta costs), one small plot
// per policy, with the synthesised front and the area that its bounds exclude.
'use strict';

(() => {
  const {element} = report;
  const width = 330;
  const height = 236;
  const left = 44;
  const bottom = 38;

  const drawn = (tag, attributes, text) => {
    const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text !== undefined) node.textContent = text;
    return node;
  };

  // Choices with equal costs, as {steps, rounds, ranges of sizes}; points are in the order of sizes.
  const spotsOf = points => {
    const spots = new Map();
    points.forEach((point, i) => {
      if (!point.rounds) return;
      const key = `${point.steps} ${point.rounds.toPrecision(6)}`;
      if (!spots.has(key)) spots.set(key, {steps: point.steps, rounds: point.rounds, count: 0, ranges: []});
      const spot = spots.get(key);
      const last = spot.ranges[spot.ranges.length - 1];
      if (last && last.end === i - 1) {
        last.end = i;
        last.to = point.bytes;
      } else {
        spot.ranges.push({end: i, from: point.bytes, to: point.bytes});
      }
      ++spot.count;
    });
    return [...spots.values()];
  };

  const rangeText = range => report.sizeText(range.from) +
      (range.to > range.from ? '–' + report.sizeText(range.to) : '');

  const letter = i => String.fromCharCode(65 + i % 26);

  const picture = (run, front, xEnd, yEnd) => {
    const x = steps => left + (width - left - 14) * Math.log2(1 + steps) / Math.log2(1 + xEnd);
    const y = rounds => height - bottom - (height - bottom - 10) * rounds / yEnd;
    const svg = drawn('svg', {class: 'front', role: 'img', viewBox: `0 0 ${width} ${height}`,
      'aria-label': `${run.name}: steps and rounds per chunk of its choices`});
    const block = (x0, y0, x1, y1) => svg.append(drawn('rect', {class: 'excluded', x: x0, y: y0,
      width: Math.max(x1 - x0, 0), height: Math.max(y1 - y0, 0)}));
    if (front.min_steps > 0) block(x(0), y(yEnd), x(front.min_steps), y(0));
    if (front.min_rounds > 0) block(x(front.min_steps), y(front.min_rounds), x(xEnd), y(0));
    svg.append(drawn('path', {class: 'axis', d: `M${x(0)} ${y(yEnd)}V${y(0)}H${x(xEnd)}`}));
    for (const steps of [1, 2, 4, 8, 16, 32].filter(one => one <= xEnd)) {
      svg.append(drawn('text', {class: 'tick', 'text-anchor': 'middle', x: x(steps), y: y(0) + 15}, steps));
    }
    for (let k = 1; k <= 3; ++k) {
      svg.append(drawn('text', {class: 'tick', 'text-anchor': 'end', x: left - 5, y: y(yEnd * k / 3) + 4},
          (yEnd * k / 3).toPrecision(2)));
    }
    svg.append(drawn('text', {class: 'tick', 'text-anchor': 'middle', x: (left + width) / 2, y: height - 5},
        'steps S'), drawn('text', {class: 'tick', 'text-anchor': 'middle', transform: 'rotate(-90)',
      x: -(height - bottom) / 2, y: 11}, 'rounds per chunk R/C'));
    svg.append(drawn('path', {class: 'line', d: front.points.map((point, i) =>
      `${i ? 'L' : 'M'}${x(point.steps)} ${y(point.rounds)}`).join('')}));
    for (const point of front.points) {
      svg.append(drawn('circle', {class: 'point', cx: x(point.steps), cy: y(point.rounds), r: 4}));
    }
    const spots = spotsOf(run.points);
    spots.forEach((spot, i) => {
      const cx = x(spot.steps);
      const cy = y(spot.rounds);
      svg.append(drawn('circle', {class: 'choice', cx, cy, r: 7 + Math.sqrt(spot.count)}),
          drawn('text', {class: 'letter', 'text-anchor': 'middle', x: cx, y: cy + 4}, letter(i)));
    });
    return element('figure', {class: 'front'}, element('figcaption', {}, run.name), svg,
        element('ul', {}, ...spots.map((spot, i) => element('li', {},
            element('b', {}, letter(i)), ` S = ${spot.steps}, R/C = ${+spot.rounds.toPrecision(3)}: ` +
                spot.ranges.map(rangeText).join(', ')))));
  };

  // Small plots of one collective; null if it has no synthesised front.
  report.frontsOf = collective => {
    const front = collective.front;
    if (!front) return null;
    const runs = report.shownRuns(collective, ['steps', 'rounds']).filter(run =>
        run.points.some(point => point.rounds));
    if (!runs.length) return null;
    const all = runs.flatMap(run => run.points.filter(point => point.rounds)).concat(front.points);
    const xEnd = Math.max(...all.map(point => point.steps)) * 1.2;
    const yEnd = Math.max(...all.map(point => point.rounds)) * 1.2;
    return element('div', {class: 'fronts'}, ...runs.map(run => picture(run, front, xEnd, yEnd)));
  };
})();
