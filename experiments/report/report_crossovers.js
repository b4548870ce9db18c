// Plots of the fastest algorithm, and of its best number of instances, against size.
'use strict';

(() => {
  const {element, format, drawing} = report;

  // Section of a block's page; nothing if there is only one choice. Tuners are left out: their
  // choices are not algorithms of their own.
  report.crossovers = block => {
    const configs = report.configsOf(block).filter(config => !report.isChosen(config));
    const groups = new Map();
    for (const config of configs) {
      if (!groups.has(config.algorithm)) groups.set(config.algorithm, []);
      groups.get(config.algorithm).push(config);
    }
    const names = [...groups.keys()];
    const counts = report.distinct(configs.map(config => config.instances)).sort((a, b) => a - b);
    if (block.sizes.length < 2 || (names.length < 2 && counts.length < 2)) return [];

    const winners = report.bestOf(configs);
    const bestBy = new Map(names.map(name => [name, report.bestOf(groups.get(name))]));
    const sizes = winners.map(point => point.bytes);
    const span = [sizes[0], sizes[sizes.length - 1]];
    const describe = ({point}) => [
      `${report.configName(point.config)}, ${format.bytes(point.bytes)}`,
      'time ' + format.time(point.time_us),
    ];
    const step = (points, value, colour, width) => ({
      data: points.map(point => ({x: point.bytes, y: value(point), point})),
      stepped: 'middle', borderColor: colour, backgroundColor: colour, borderWidth: width,
      pointRadius: 3.5, pointHitRadius: 6, pointHoverRadius: 6, clip: false,
    });
    const plots = [];
    if (names.length > 1) {
      plots.push(report.sizePlot({
        title: 'Fastest algorithm', sizes: span, categories: names, height: 'low', describe,
        datasets: () => [{
          ...step(winners, point => names.indexOf(point.config.algorithm), drawing.ink().muted, 2),
          pointBackgroundColor: winners.map(point => drawing.colour(point.config.algorithm)),
          pointBorderColor: winners.map(point => drawing.colour(point.config.algorithm)),
        }],
      }));
    }
    if (counts.length > 1) {
      const place = point => counts.indexOf(point.config.instances);
      plots.push(report.sizePlot({
        title: 'Best number of instances r', sizes: span, categories: counts.map(String), height: 'low',
        describe,
        datasets: () => [
          ...names.map(name => step(bestBy.get(name), place, drawing.colour(name), 1.6)),
          {...step(winners, place, drawing.ink().text, 4.5), order: 2, pointRadius: 0},
        ],
      }));
    }
    const legend = element('div', {class: 'legend'});
    const fillLegend = () => legend.replaceChildren(
        ...names.map(name => element('span', {class: 'key'}, drawing.swatch(drawing.colour(name)),
            name)),
        ...(counts.length > 1 ? [element('span', {class: 'key'}, element('i', {class: 'bold'}),
            'the fastest of all')] : []));
    fillLegend();
    const short = point => `${point.config.protocol} c${point.config.channels}` +
        (report.instancesVary ? ` r${point.config.instances}` : '');
    const winnerAt = new Map(winners.map(point => [point.bytes, point.config.algorithm]));
    const table = element('table', {class: 'dense'},
        element('thead', {}, element('tr', {}, element('th', {class: 'text'}, 'best of'),
            ...sizes.map(bytes => element('th', {scope: 'col'}, format.bytes(bytes))))),
        element('tbody', {}, ...names.map(name => {
          const points = new Map(bestBy.get(name).map(point => [point.bytes, point]));
          return element('tr', {}, element('td', {class: 'text'}, name),
              ...sizes.map(bytes => element('td', {
                class: winnerAt.get(bytes) === name ? 'best won' : null,
              }, points.has(bytes) ? short(points.get(bytes)) : format.missing)));
        })));
    return [element('h3', {}, names.length > 1 ? 'Fastest algorithm by size' :
        'Best number of instances by size'), legend,
            report.plotGrid(plots, fillLegend).grid, element('div', {class: 'scroll'}, table)];
  };
})();
