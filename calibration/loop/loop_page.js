// A closed loop over time: the agent, and the trained policy if there is one, against other policies,
// what the interfaces counted, alarms, and choices.
'use strict';

(() => {
  const {data, page, palette, element, table, ink, section, plot, plotsWithLegend} = cclgymPage;
  const ratio = value => value.toFixed(3);
  const seconds = value => `${+value.toFixed(1)} s`;
  const changes = data.happenings.filter(each => each[1] === 'change');

  // Dashed lines at the changes, and triangles at a policy's alarms, drawn behind the data.
  const marks = name => ({
    id: 'marks',
    beforeDatasetsDraw: chart => {
      const {ctx, chartArea, scales} = chart;
      ctx.save();
      ctx.font = '10px sans-serif';
      ctx.fillStyle = ctx.strokeStyle = ink().text;
      for (const [at, , label] of changes) {
        const x = scales.x.getPixelForValue(at);
        ctx.setLineDash([3, 3]);
        ctx.beginPath();
        ctx.moveTo(x, chartArea.top);
        ctx.lineTo(x, chartArea.bottom);
        ctx.stroke();
        ctx.save();
        ctx.translate(x + 9, chartArea.top + 4);
        ctx.rotate(Math.PI / 2);
        ctx.fillText(label, 0, 0);
        ctx.restore();
      }
      ctx.setLineDash([]);
      ctx.fillStyle = palette(4);
      for (const [at, what, label] of data.happenings) {
        if (what !== 'alarm' || label !== name) continue;
        const x = scales.x.getPixelForValue(at);
        ctx.beginPath();
        ctx.moveTo(x, chartArea.bottom - 8);
        ctx.lineTo(x - 4, chartArea.bottom);
        ctx.lineTo(x + 4, chartArea.bottom);
        ctx.fill();
      }
      ctx.restore();
    },
  });

  const lines = (title, label, name, y, names, points) => plotsWithLegend('Series', names,
      (shown, colour) => [plot({
        title, label, nearest: 'x', y, plugins: [marks(name)],
        x: {kind: 'linear', title: 'time, s', range: {min: 0, max: Math.round(data.seconds)}},
        datasets: () => names.filter(shown).map(one => ({
          borderColor: colour(one), backgroundColor: colour(one), pointRadius: 0, borderWidth: 1.4,
          data: points(one).map(([x, at]) => ({x, y: at, name: one})),
        })),
        describe: raw => [raw.name, ratio(raw.y), 'at ' + seconds(raw.x)],
      })]);

  // One strip per call: a colour per configuration, the most used first.
  const strip = ({call, spans}) => {
    const lengths = new Map();
    spans.forEach(([at, config], i) => {
      const end = i + 1 < spans.length ? spans[i + 1][0] : data.seconds;
      lengths.set(config, (lengths.get(config) || 0) + end - at);
    });
    const order = [...lengths.keys()].sort((a, b) => lengths.get(b) - lengths.get(a));
    const colour = config => palette(order.indexOf(config));
    const bar = element('div', {style: 'position:relative;height:16px;background:' + ink().grid});
    spans.forEach(([at, config], i) => {
      const end = i + 1 < spans.length ? spans[i + 1][0] : data.seconds;
      bar.append(element('div', {title: `${seconds(at)}: ${config}`, style:
          `position:absolute;top:0;height:100%;left:${100 * at / data.seconds}%;` +
          `width:${100 * (end - at) / data.seconds}%;background:${colour(config)}`}));
    });
    for (const [at, , label] of changes) {
      bar.append(element('div', {title: label, style: 'position:absolute;top:0;height:100%;width:1px;' +
          `background:${ink().text};left:${100 * at / data.seconds}%`}));
    }
    const legend = order.slice(0, 5).map(config => element('span', {style: 'display:inline-block;margin-left:1em'},
        element('span', {style: 'display:inline-block;width:9px;height:9px;margin-right:4px;' +
            `background:${colour(config)}`}), config));
    return element('div', {style: 'margin:0 0 10px'},
        element('div', {style: 'font-size:12px'}, element('b', {}, call), ...legend), bar);
  };

  const compared = ({name, comparisons}) =>
      table([{name: name + ' against', text: true}, {name: 'state', text: true}, {name: 'calls'},
             {name: 'total time, ratio', format: ratio}, {name: '95 %, from', format: ratio},
             {name: 'to', format: ratio}, {name: 'geo. mean of ratios', format: ratio},
             {name: '95 %, from', format: ratio}, {name: 'to', format: ratio}],
          comparisons.map(row => [row[0], row[1] || 'all', ...row.slice(2)]));
  const over = ({name, ratios}) => lines(`${name} / others over time`,
      'ratio of total times over time', name, {kind: 'ratio', title: 'ratio of times'},
      Object.keys(ratios).map(lane => `${name} / ${lane}`),
      series => ratios[series.slice(name.length + 3)]);

  cclgymPage.opening('A closed loop: ' + data.name,
      'Every call was made by each policy in turn. The agent learned from the times of its own calls and ' +
      'was not told of the changes; so did the trained policy, if there is one. A ratio below 1 means that ' +
      'it is faster than the other. Dashed lines are changes of the machine, triangles its alarms.',
      [`The loop ran for ${data.seconds.toFixed(0)} s with ${changes.length} changes of the machine.`,
        ...data.subjects.flatMap(({name, comparisons}) => comparisons.filter(row => !row[1]).map(row =>
            `${name} took ${ratio(row[3])} times as long as ${row[0]} in ${row[2]} calls ` +
            `(95 %: ${ratio(row[4])} to ${ratio(row[5])}).`))], []);
  page.append(...data.subjects.map(compared),
      section('Times', () => [...data.subjects.flatMap(over),
        ...lines('Received by all nodes during the agent’s calls', 'bytes per second over time', 'agent',
            {kind: 'linear', title: 'MB/s', zero: true}, ['received'], () => data.rate)]));
  for (const {name, choices} of data.subjects) {
    page.append(section(`Choices of ${name} over time`, () => choices.map(strip)));
  }
  page.append(section('Figures', () => [element('pre', {}, data.text)]));
  cclgymPage.contents();
})();
