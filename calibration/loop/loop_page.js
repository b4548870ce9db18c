// A closed loop over time: the agent, and the trained policy if there is one, against other policies,
// what the interfaces counted, alarms, and choices.
'use strict';

(() => {
  const {data, page, palette, element, table, ink, plot} = cclgymPage;
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
      ctx.fillStyle = palette[4];
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

  const axis = (title, more) => ({
    type: 'linear', title: {display: true, text: title, color: ink().text},
    grid: {color: ink().grid}, ticks: {color: ink().text}, ...more,
  });
  const lines = (name, series, title, more) => () => ({
    type: 'line',
    plugins: [marks(name)],
    data: {datasets: series.map(([label, points], i) => ({
      label, borderColor: palette[i], backgroundColor: palette[i], pointRadius: 0, borderWidth: 1.4,
      data: points.map(([x, y]) => ({x, y})),
    }))},
    options: {
      animation: false, maintainAspectRatio: false, parsing: false,
      interaction: {mode: 'nearest', intersect: false, axis: 'x'},
      scales: {x: axis('time, s', {min: 0, max: Math.round(data.seconds)}), y: axis(title, more)},
      plugins: {legend: {labels: {color: ink().text, boxWidth: 8, boxHeight: 8, font: {size: 10}}}},
    },
  });

  // One strip per call: a colour per configuration, the most used first.
  const strip = ({call, spans}) => {
    const lengths = new Map();
    spans.forEach(([at, config], i) => {
      const end = i + 1 < spans.length ? spans[i + 1][0] : data.seconds;
      lengths.set(config, (lengths.get(config) || 0) + end - at);
    });
    const order = [...lengths.keys()].sort((a, b) => lengths.get(b) - lengths.get(a));
    const colour = config => palette[order.indexOf(config) % palette.length];
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
    const legend = order.slice(0, 5).map(config => element('span', {style: 'margin-right:1em'},
        element('span', {style: 'display:inline-block;width:9px;height:9px;margin-right:4px;' +
            `background:${colour(config)}`}), config));
    return element('div', {style: 'margin:0 0 10px'},
        element('div', {style: 'font-size:12px'}, element('b', {}, call), '  ', ...legend), bar);
  };

  const compared = ({name, comparisons}) =>
      table([{name: name + ' against', text: true}, {name: 'state', text: true}, {name: 'calls'},
             {name: 'total time, ratio', format: ratio}, {name: '95 %, from', format: ratio},
             {name: 'to', format: ratio}, {name: 'geo. mean of ratios', format: ratio},
             {name: '95 %, from', format: ratio}, {name: 'to', format: ratio}],
          comparisons.map(row => [row[0], row[1] || 'all', ...row.slice(2)]));
  const over = ({name, ratios}) =>
      plot(`${name} / others over time`, 'ratio of total times over time',
          lines(name, Object.keys(ratios).map(lane => [`${name} / ${lane}`, ratios[lane]]),
              'ratio of times', {}));

  page.append(element('h1', {}, 'A closed loop: ' + data.name),
      element('p', {class: 'lead'}, 'Every call was made by each policy in turn. The agent learned from ' +
          'the times of its own calls and was not told of the changes; so did the trained policy, if there ' +
          'is one. A ratio below 1 means that it is faster than the other. Dashed lines are changes of the ' +
          'machine, triangles its alarms.'),
      ...data.subjects.map(compared),
      element('div', {class: 'plots wide'}, ...data.subjects.map(over),
          plot('Received by all nodes during the agent’s calls', 'bytes per second over time',
              lines('agent', [['received', data.rate]], 'MB/s', {beginAtZero: true}))));
  for (const {name, choices} of data.subjects) {
    page.append(element('h2', {}, `Choices of ${name} over time`), ...choices.map(strip));
  }
  page.append(element('h2', {}, 'Figures'), element('pre', {}, data.text));
})();
