// Pictures of a job: operations of ranks over time, the critical path, times of ranks.
'use strict';

const cclgymJob = (() => {
  const {data, palette, element, ink, swatch} = cclgymPage;
  const {numbers, pictures} = data;
  const step = numbers.step_time_s;
  const kUnits = 1e6;  // dates of boxes are in millionths of the step

  const timeOf = seconds => cclgymPage.time(seconds * 1e6);
  const percent = share => (100 * share).toFixed(1) + ' %';
  // Computation is blue on the whole page; communicators have the other colours.
  const colourOf = kind => palette(kind < 0 ? 0 : 1 + kind % 11);
  const nameOf = kind => kind < 0 ? 'computation' : pictures.communicators[kind];

  // A drawing that is made anew when the colours change.
  const drawn = (make, style) => {
    const box = element('div', {class: style});
    const draw = () => box.replaceChildren(...[make()].flat());
    draw();
    cclgymPage.drawWhenNear(box, () => {}, draw);
    return box;
  };
  const keys = entries => drawn(() => entries().map(([colour, text]) => element('span',
      {class: 'key'}, swatch(colour), text)), 'legend');

  const kSpace = 'http://www.w3.org/2000/svg';
  const shape = (tag, attributes, text) => {
    const node = document.createElementNS(kSpace, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text !== undefined) node.textContent = text;
    return node;
  };

  // Round dates along the step: at most ten.
  const dates = () => {
    const unit = step >= 1 ? [1, 's'] : step >= 1e-3 ? [1e3, 'ms'] : [1e6, 'µs'];
    const length = step * unit[0];
    const power = 10 ** Math.floor(Math.log10(length / 10));
    const every = [1, 2, 5, 10].map(factor => factor * power).find(each => length / each <= 10);
    const made = [];
    for (let i = 0; i * every <= length; ++i) {
      made.push([i * every / length, Number((i * every).toPrecision(6)) + ' ' + unit[1]]);
    }
    return made;
  };

  const kLeft = 134, kWidth = 1040, kRight = 16;
  const xOf = date => kLeft + (kWidth - kLeft - kRight) * date / kUnits;

  // Stripes in the colour of a communicator: waiting.
  const stripes = (svg, kind) => {
    const pattern = shape('pattern', {id: 'wait' + kind, width: 5, height: 5,
        patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)'});
    pattern.append(shape('rect', {width: 5, height: 5, fill: colourOf(kind), 'fill-opacity': 0.16}),
        shape('rect', {width: 1.6, height: 5, fill: colourOf(kind), 'fill-opacity': 0.75}));
    svg.append(pattern);
  };

  const boxesInto = (svg, boxes, y, height) => {
    for (const [kind, start, begin, end, label, operations] of boxes) {
      const seconds = date => date / kUnits * step;
      const lines = [pictures.labels[label] + (operations > 1 ? ` and ${operations - 1} more` : ''),
        `${nameOf(kind)}, ${timeOf(seconds(end - start))} from ${timeOf(seconds(start))} on`];
      if (begin > start) lines.push(`${timeOf(seconds(begin - start))} of it waiting for other ranks`);
      for (const [from, until, fill] of [[start, begin, `url(#wait${kind})`],
        [begin, end, colourOf(kind)]]) {
        if (until <= from) continue;
        const rect = shape('rect', {x: xOf(from).toFixed(2), y, height,
          width: Math.max(0.4, xOf(until) - xOf(from) - (until - from > 3000 ? 0.4 : 0)).toFixed(2),
          fill});
        rect.append(shape('title', {}, lines.join('\n')));
        svg.append(rect);
      }
    }
  };

  const axisInto = (svg, top, bottom) => {
    for (const [share, text] of dates()) {
      const x = xOf(share * kUnits);
      svg.append(shape('line', {x1: x, x2: x, y1: top, y2: bottom}),
          shape('text', {x, y: bottom + 13, class: 'muted', 'text-anchor': 'middle'}, text));
    }
  };

  const kindsOf = lists => [...new Set(lists.flat().map(box => box[0]))].sort((a, b) => a - b);

  // One row per rank with one lane per stream.
  const gantt = rows => {
    const kLane = 17, kHead = 21, kGap = 9;
    const height = rows.reduce((sum, row) => sum + kHead + kLane * row.lanes.length + kGap, 0) + 20;
    const svg = shape('svg', {viewBox: `0 0 ${kWidth} ${height}`, role: 'img',
      'aria-label': 'Operations of ranks over time'});
    for (const kind of kindsOf(rows.flatMap(row => row.lanes.map(lane => lane.boxes)))) {
      stripes(svg, kind);
    }
    axisInto(svg, 4, height - 18);
    let y = 0;
    for (const row of rows) {
      svg.append(shape('line', {class: 'row', x1: 0, x2: kWidth, y1: y + 2, y2: y + 2}),
          shape('text', {x: 0, y: y + 15, 'font-weight': 600}, row.label));
      y += kHead;
      for (const lane of row.lanes) {
        const short = lane.stream.length > 21 ? lane.stream.slice(0, 20) + '…' : lane.stream;
        svg.append(shape('text', {x: kLeft - 6, y: y + 12, class: 'muted', 'text-anchor': 'end'},
            short));
        boxesInto(svg, lane.boxes, y + 1, kLane - 2);
        y += kLane;
      }
      y += kGap;
    }
    return svg;
  };

  const strip = boxes => {
    const svg = shape('svg', {viewBox: `0 0 ${kWidth} 58`, role: 'img',
      'aria-label': 'Critical path over time'});
    axisInto(svg, 2, 40);
    svg.append(shape('text', {x: kLeft - 6, y: 25, class: 'muted', 'text-anchor': 'end'},
        'critical path'));
    boxesInto(svg, boxes, 6, 30);
    return svg;
  };

  // Parts of a rank's time with their colours.
  const parts = () => [['compute_s', 'computation', palette(0)],
    ['overlap_s', 'computation and communication', palette(2)],
    ['exposed_s', 'exposed communication', palette(1)],
    ['idle_s', 'idle', cclgymPage.isDark() ? '#4a525c' : '#c9ced5']];
  const bars = rows => rows.flatMap(row => [element('div', {class: 'name'}, row.label),
    element('div', {class: 'bar'}, ...parts().filter(([key]) => row[key] > 0)
        .map(([key, name, colour]) => {
          const share = row[key] / step;
          return element('div', {
            title: `${name}: ${timeOf(row[key])}, ${percent(share)}`,
            style: `width:${100 * share}%;background:${colour};color:` +
                (key === 'idle_s' ? ink().text : ink().back),
          }, share >= 0.055 ? percent(share) : '');
        }))]);

  return {numbers, pictures, step, timeOf, percent, colourOf, nameOf, drawn, keys, gantt, strip,
          bars, parts, kindsOf};
})();
