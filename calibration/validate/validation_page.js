// A policy on hardware: its choice against the default and the best configuration, call by call.
'use strict';

(() => {
  const {data, page, element, bytes, time, table, ink, section, plot, plotsWithLegend} = cclgymPage;
  const ratio = value => value === null ? '' : value.toFixed(3);
  const percent = value => (100 * value).toFixed(0) + ' %';

  const collectivesOf = part => [...new Set(part.calls.map(call => call.collective))];

  // One series per collective, and a line at 1 behind them.
  const plotsOf = part => plotsWithLegend('Collective', collectivesOf(part), (shown, colour) => {
    const sizes = part.calls.map(call => call.bytes);
    const one = (title, value) => plot({
      title: title + ' by size', label: `${part.label}, ${title} by size`,
      x: {kind: 'size', title: 'Size', values: sizes}, y: {kind: 'ratio', title},
      datasets: () => [
        ...collectivesOf(part).filter(shown).map(collective => ({
          borderColor: colour(collective), backgroundColor: colour(collective), pointRadius: 3,
          borderWidth: 1.4, data: part.calls.filter(call => call.collective === collective)
              .map(call => ({x: call.bytes, y: value(call), call})),
        })),
        {pointRadius: 0, pointHitRadius: 0, borderColor: ink().text, borderWidth: 1, aside: true,
          borderDash: [4, 4],
          data: [{x: Math.min(...sizes), y: 1}, {x: Math.max(...sizes), y: 1}]},
      ],
      describe: ({call}) => call && [call.collective, 'default ' + time(call.default_us),
        `chosen ${time(call.chosen_us)} (${call.chosen})`,
        `best ${time(call.best_us)} (${call.best})`],
    });
    return [one('Chosen / default', call => call.ratio),
            one('Chosen / best', call => call.chosen_us / call.best_us),
            one('Default / best', call => call.default_us / call.best_us)];
  }, '');

  cclgymPage.opening('A policy on hardware', 'Times of the policy’s choice, of the fastest ' +
      'configuration of an earlier sweep if there is one, of the default and of the best measured ' +
      'configuration, taken in turn. A ratio below 1 is faster than the default.',
      data.map(part => `${part.label}: ${part.calls.length} calls; the policy’s choices take ` +
          `${ratio(part.ratio)} times as long as the default (95 %: ${ratio(part.low)} to ` +
          `${ratio(part.high)}), ${percent(part.within)} of them within 10 % of the best.`), []);
  page.append(table([{name: 'part', text: true}, {name: 'choice', text: true}, {name: 'calls'},
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
    page.append(section(part.label, () => [...(part.notes ? [element('p', {}, part.notes)] : []),
        ...plotsOf(part),
        table([{name: 'collective', text: true}, {name: 'size', format: bytes},
               {name: 'default', format: time}, {name: 'chosen', format: time},
               {name: 'best', format: time}, {name: 'chosen / default', format: ratio},
               {name: '95 %, from', format: ratio}, {name: 'to', format: ratio},
               {name: 'chosen', text: true}, {name: 'best', text: true}],
            part.calls.map(call => [call.collective, call.bytes, call.default_us, call.chosen_us,
                                    call.best_us, call.ratio, call.low, call.high, call.chosen,
                                    call.best]))]));
  }
  cclgymPage.contents();
})();
