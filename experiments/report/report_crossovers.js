// Plots of the fastest algorithm or tuner, and of the best number of instances, against size.
'use strict';

(() => {
  const {element, format, drawing} = report;

  // Section of a block's page; nothing if there is only one choice. Tuners and policies stand beside
  // the algorithms; if one of them makes the fastest choice of the others, both win.
  report.crossovers = block => {
    const configs = report.configsOf(block);
    const groups = new Map();
    for (const config of configs) {
      if (!groups.has(config.algorithm)) groups.set(config.algorithm, []);
      groups.get(config.algorithm).push(config);
    }
    const names = [...groups.keys()];
    const own = configs.filter(config => !report.isChosen(config));
    const counts = report.distinct(own.map(config => config.instances)).sort((a, b) => a - b);
    if (block.sizes.length < 2 || (names.length < 2 && counts.length < 2)) return [];

    const bestBy = new Map(names.map(name => [name, report.bestOf(groups.get(name))]));
    const least = new Map(report.bestOf(configs).map(point => [point.bytes, point.time_us]));
    const sizes = [...least.keys()];
    const span = [sizes[0], sizes[sizes.length - 1]];
    const describe = ({point}) => [report.configName(point.config), 'time ' + format.time(point.time_us)];
    const wins = (name, bytes) => {
      const point = bestBy.get(name).find(one => one.bytes === bytes);
      return point && point.time_us === least.get(bytes) ? point : null;
    };
    const plots = [];
    if (names.length > 1) {
      plots.push(report.sizePlot({
        title: 'Fastest at each size', values: sizes, sizes: span, categories: names,
        height: names.length > 6 ? null : 'low', describe,
        datasets: () => names.map((name, i) => ({
          data: sizes.map(bytes => [bytes, wins(name, bytes)]).map(([bytes, point]) => (
              point ? {x: bytes, y: i, point} : {x: bytes, y: null})),
          borderColor: drawing.colour(name), backgroundColor: drawing.colour(name), borderWidth: 5,
          pointRadius: 5, pointHitRadius: 6, pointHoverRadius: 7, clip: false, spanGaps: false,
        })),
      }));
    }
    const step = (points, value, colour, width) => ({
      data: points.map(point => ({x: point.bytes, y: value(point), point})),
      stepped: 'middle', borderColor: colour, backgroundColor: colour, borderWidth: width,
      pointRadius: 3.5, pointHitRadius: 6, pointHoverRadius: 6, clip: false,
    });
    if (counts.length > 1) {
      const place = point => counts.indexOf(point.config.instances);
      const winners = report.bestOf(own);
      plots.push(report.sizePlot({
        title: 'Best number of instances r', values: sizes, sizes: span, categories: counts.map(String),
        height: 'low', describe,
        datasets: () => [
          ...names.filter(name => !report.isChosen(groups.get(name)[0])).map(name =>
              step(bestBy.get(name), place, drawing.colour(name), 1.6)),
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
    const short = ({config}) => (report.isChosen(config) ? config.program + ' ' : '') +
        `${config.protocol} c${config.channels}` + (report.instancesVary ? ` r${config.instances}` : '');
    const table = element('table', {class: 'dense wins'},
        element('thead', {}, element('tr', {}, element('th', {class: 'text'}, 'best of'),
            element('th', {scope: 'col'}, 'wins'),
            ...sizes.map(bytes => element('th', {scope: 'col'}, format.bytes(bytes))))),
        element('tbody', {}, ...names.map(name => {
          const points = new Map(bestBy.get(name).map(point => [point.bytes, point]));
          return element('tr', {}, element('td', {class: 'text'}, name),
              element('td', {}, `${sizes.filter(bytes => wins(name, bytes)).length} of ${sizes.length}`),
              ...sizes.map(bytes => element('td', {class: wins(name, bytes) ? 'best won' : null},
                  points.has(bytes) ? short(points.get(bytes)) : format.missing)));
        })));
    return [element('h3', {}, names.length > 1 ? 'Which algorithm wins' :
        'Best number of instances by size'), legend,
            report.plotGrid(plots, fillLegend).grid, element('div', {class: 'scroll'}, table)];
  };
})();
