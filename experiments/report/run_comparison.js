// Two runs: the changed cells, and the plots of both side by side.
'use strict';

(() => {
  const {data, page, element, table, fixed, section} = cclgymPage;
  // The drawings are made by cclgym, which escapes the names in them.
  const figure = (run, svg) => {
    const box = element('div', {class: 'drawing'});
    if (svg === null) box.append('not in this run');
    else box.innerHTML = svg;
    return element('figure', {}, element('figcaption', {}, run), box);
  };
  cclgymPage.opening('Two runs', data.runs.join(' and '), data.outcome, []);
  page.append(section('Plots', () => data.plots.map(([title, first, second]) => element('div', {},
      element('h3', {}, title), element('div', {class: 'plots wide'}, figure(data.runs[0], first),
          figure(data.runs[1], second))))));
  if (data.changed.length) {
    page.append(section('Changed cells', () => [table(
        [{name: 'cell', text: true}, {name: 'first, µs', format: fixed},
         {name: 'second, µs', format: fixed},
         {name: 'second / first', format: value => value.toFixed(4)}], data.changed)]));
  }
  page.append(element('footer', {}, `Made by cclgym ${data.version}.`));
  cclgymPage.contents();
})();
