// Choices of each policy against size: one strip per policy and knob, with published fastest
// configurations below. Names have their own colours; larger numbers are darker.
'use strict';

(() => {
  const {element, format, drawing} = report;

  const knobs = [
    {key: 'algorithm', title: 'Algorithm'}, {key: 'protocol', title: 'Protocol'},
    {key: 'channels', title: 'Channels', numeric: true},
    {key: 'instances', title: 'Instances r', numeric: true},
    {key: 'tile_bytes', title: 'Chunk', numeric: true, text: bytes =>
        bytes === 0 ? 'whole' : format.bytes(bytes)},
  ];
  const textOf = (knob, value) => knob.text ? knob.text(value) : String(value);

  const sizeText = report.sizeText;

  // Neighbouring sizes with the same value, as [from, to, value]; edges lie halfway between sizes.
  const rangesOf = (points, key) => {
    const ranges = [];
    points.forEach((point, i) => {
      const before = i ? Math.sqrt(points[i - 1].bytes * point.bytes) : point.bytes;
      const after = i + 1 < points.length ? Math.sqrt(points[i + 1].bytes * point.bytes) :
          point.bytes;
      const last = ranges[ranges.length - 1];
      if (last && last.value === point[key] && last.nccl === point.nccl) {
        last.to = after;
        last.last = point.bytes;
      } else {
        ranges.push({from: before, to: after, first: point.bytes, last: point.bytes,
          value: point[key], nccl: point.nccl});
      }
    });
    return ranges;
  };

  // Runs to show: agents, the oracle, NCCL's default, the SVM, synthesis; seeds whose points have the
  // same values for all keys once.
  const shownRuns = (collective, keys) => {
    const rank = name => name.startsWith('lstm-') ? 0 : name === 'oracle' ? 1 :
        name.startsWith('nccl-default') ? 2 : name === 'svm' ? 3 : name.startsWith('synth') ? 4 : -1;
    const groups = new Map();
    for (const run of collective.runs) {
      if (rank(run.policy) < 0) continue;
      if (!groups.has(run.policy)) groups.set(run.policy, []);
      groups.get(run.policy).push(run);
    }
    return [...groups].sort((a, b) => rank(a[0]) - rank(b[0])).flatMap(([policy, runs]) => {
      const choices = run => JSON.stringify(run.points.map(point => keys.map(key => point[key])));
      const alike = runs.every(run => choices(run) === choices(runs[0]));
      return alike ? [{name: policy, points: runs[0].points}] :
          runs.map(run => ({name: `${policy}, seed ${run.seed}`, points: run.points}));
    });
  };

  report.shownRuns = shownRuns;

  // Strips of one collective of a part.
  report.stripsOf = collective => {
    const runs = shownRuns(collective, knobs.map(knob => knob.key)).filter(run => run.points.length);
    if (!runs.length) return null;
    const sources = report.distinct(collective.published.map(row => row.source));
    const sizes = runs.flatMap(run => run.points.map(point => point.bytes));
    const least = Math.min(...sizes);
    const most = Math.max(...sizes, least * 1.01);
    const place = bytes => 100 * Math.min(Math.max(
        Math.log(bytes / least) / Math.log(most / least), 0), 1);
    const said = (row, knob) => (row[knob.key] || []).map(value => textOf(knob, value));
    const grid = element('div', {class: 'strips'});
    const fill = () => {
      grid.replaceChildren();
      for (const knob of knobs) {
        const values = report.distinct(runs.flatMap(run => run.points.map(point => point[knob.key])));
        const published = sources.filter(source => collective.published.some(row =>
            row.source === source && said(row, knob).length));
        // A knob that never varies needs no strip.
        if (values.length < 2 && !published.length) continue;
        if (knob.numeric) values.sort((a, b) => a - b);
        const names = values.map(value => textOf(knob, value));
        const colour = text => {
          const i = names.indexOf(text);
          if (!knob.numeric) {
            if (i >= 0) return drawing.faded(drawing.palette(i), 0.45);
            const others = report.distinct(collective.published.flatMap(row => said(row, knob)))
                .filter(name => !names.includes(name));
            return drawing.faded(drawing.palette(names.length + Math.max(others.indexOf(text), 0)), 0.45);
          }
          const at = i < 0 ? 0.5 : i / Math.max(names.length - 1, 1);
          return drawing.faded(drawing.palette(0), 0.12 + 0.55 * at);
        };
        const box = (from, to, text, title, not_nccl) => element('div', {
          class: 'box' + (not_nccl ? ' not-nccl' : ''), title, style: `left:${place(from).toFixed(2)}%;` +
              `width:${Math.max(place(to) - place(from), 0.4).toFixed(2)}%;background-color:${colour(text)}`,
        }, not_nccl ? '† ' + text : text);
        grid.append(element('div', {class: 'knob'}, knob.title));
        for (const run of runs) {
          grid.append(element('div', {class: 'name'}, run.name),
              element('div', {class: 'track'}, ...rangesOf(run.points, knob.key).map(range => {
                const text = textOf(knob, range.value);
                return box(range.from, range.to, text, `${run.name}: ${text}, ` +
                    `${sizeText(range.first)} to ${sizeText(range.last)}` +
                    (range.nccl ? `; ${range.nccl}` : ''), Boolean(range.nccl));
              })));
        }
        for (const source of published) {
          const boxes = [];
          for (const row of collective.published) {
            const text = said(row, knob).join(' or ');
            if (row.source !== source || !text || row.from > most ||
                (row.to !== null && row.to < least)) {
              continue;
            }
            const one = {from: row.from, to: row.to === null ? most : row.to, text,
              title: `${source}, ${row.range}: ${row.variant}`};
            const last = boxes[boxes.length - 1];
            if (last && last.text === text && last.to === one.from) {
              last.to = one.to;
              last.title += '\n' + one.title;
            } else {
              boxes.push(one);
            }
          }
          if (!boxes.length) continue;
          grid.append(element('div', {class: 'name'}, source),
              element('div', {class: 'track published'}, ...boxes.map(one =>
                box(one.from, one.to, one.text, one.title))));
        }
      }
      // About one label in 80 pixels.
      const room = Math.max(2, (Math.min(document.body.clientWidth, 1200) - 120) / 80);
      const ticks = cclgymAxes.sizeTicks(sizes, least, most, room);
      grid.append(element('div', {}), element('div', {class: 'axis'}, ...ticks.map(bytes =>
          element('span', {style: `left:${place(bytes).toFixed(2)}%`}, format.bytes(bytes)))));
    };
    fill();
    drawing.drawWhenNear(grid, () => {}, fill);
    return grid;
  };
})();
