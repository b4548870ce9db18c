// A policy on hardware: its choice against the default and the best configuration, call by call.
'use strict';

(() => {
  const {data, page, palette, element, bytes, time, table, ink, logarithmic, sizeTicks, plot} =
      cclgymPage;
  const ratio = value => value === null ? '' : value.toFixed(3);
  const percent = value => (100 * value).toFixed(0) + ' %';

  const collectivesOf = part => [...new Set(part.calls.map(call => call.collective))];
  const series = (part, value) => collectivesOf(part).map((collective, i) => ({
    label: collective, borderColor: palette[i % palette.length],
    backgroundColor: palette[i % palette.length], pointRadius: 3, borderWidth: 1.4,
    data: part.calls.filter(call => call.collective === collective)
        .map(call => ({x: call.bytes, y: value(call), call})),
  }));

  // A line at 1 behind the others.
  const even = part => {
    const sizes = part.calls.map(call => call.bytes);
    return {label: 'equal', pointRadius: 0, borderColor: ink().text, borderWidth: 1,
            borderDash: [4, 4], data: [{x: Math.min(...sizes), y: 1}, {x: Math.max(...sizes), y: 1}]};
  };

  const chart = (part, title, value) => () => ({
    type: 'line',
    data: {datasets: [...series(part, value), even(part)]},
    options: {
      animation: false, maintainAspectRatio: false, parsing: false,
      interaction: {mode: 'nearest', intersect: false, axis: 'xy'},
      scales: {x: logarithmic('size', bytes, sizeTicks),
               y: logarithmic(title, value => +value.toPrecision(2) + '×', {})},
      plugins: {
        legend: {labels: {color: ink().text, boxWidth: 8, boxHeight: 8, font: {size: 10},
                          padding: 6, filter: item => item.text !== 'equal'}},
        tooltip: {displayColors: false, callbacks: {
          title: items => items[0].raw.call ?
              `${items[0].raw.call.collective}, ${bytes(items[0].raw.call.bytes)}` : '',
          label: context => {
            const call = context.raw.call;
            return call ? ['default ' + time(call.default_us),
                           `chosen ${time(call.chosen_us)} (${call.chosen})`,
                           `best ${time(call.best_us)} (${call.best})`] : '';
          },
        }},
      },
    },
  });

  page.append(element('h1', {}, 'A policy on hardware'),
      element('p', {class: 'lead'}, 'Times of the policy’s choice, of the fastest configuration of an earlier ' +
          'sweep if there is one, of the default and of the best measured configuration, taken in ' +
          'turn. A ratio below 1 is faster than the default.'),
      table([{name: 'part', text: true}, {name: 'choice', text: true}, {name: 'calls'},
             {name: '/ default', format: ratio}, {name: '95 %, from', format: ratio},
             {name: 'to', format: ratio}, {name: '/ best', format: ratio},
             {name: 'within 10 %', format: percent}],
          data.flatMap(part => [
            [part.label, 'chosen by the policy', part.calls.length, part.ratio, part.low, part.high,
             part.over_best, part.within],
            ...(part.swept ? [['', 'fastest of the sweep', part.swept.calls, part.swept.ratio,
                               part.swept.low, part.swept.high, null, part.swept.within]] : []),
            ['', 'default', part.calls.length, 1, null, null, part.default_over_best,
             part.default_within],
          ])));
  for (const part of data) {
    page.append(element('h2', {}, part.label), ...(part.notes ? [element('p', {}, part.notes)] : []),
        element('div', {class: 'plots'},
            plot('Chosen / default by size', part.label + ', chosen over default by size',
                chart(part, 'chosen / default', call => call.ratio)),
            plot('Chosen / best by size', part.label + ', chosen over best by size',
                chart(part, 'chosen / best', call => call.chosen_us / call.best_us)),
            plot('Default / best by size', part.label + ', default over best by size',
                chart(part, 'default / best', call => call.default_us / call.best_us))),
        table([{name: 'collective', text: true}, {name: 'size', format: bytes},
               {name: 'default', format: time}, {name: 'chosen', format: time},
               {name: 'best', format: time}, {name: 'chosen / default', format: ratio},
               {name: '95 %, from', format: ratio}, {name: 'to', format: ratio},
               {name: 'chosen', text: true}, {name: 'best', text: true}],
            part.calls.map(call => [call.collective, call.bytes, call.default_us, call.chosen_us,
                                    call.best_us, call.ratio, call.low, call.high, call.chosen,
                                    call.best])));
  }
})();
