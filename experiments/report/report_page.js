// Assembles the page.
'use strict';

(() => {
  const {data, element, format} = report;
  const {page, section} = cclgymPage;

  const ranks = report.distinct(data.blocks.map(block => block.fabric)).map(fabric => {
    const block = data.blocks.find(candidate => candidate.fabric === fabric);
    const nodes = block.nodes > 1 ? `, ${format.count(block.nodes, 'node')}` : '';
    return `${fabric} (${format.count(block.ranks, 'rank')}${nodes})`;
  });
  const facts = [
    ['Fabrics', ranks.join(', ') || format.missing],
    ['Engine', data.engine],
    ['Cost models', ...(data.cost_models.length ? data.cost_models.map(model =>
        element('div', {}, model.name + ' ', element('code', {}, model.hash))) : [format.missing])],
    ['Repetitions and seeds', format.count(data.repetitions, 'repetition') + ', ' +
        format.count(data.seeds, 'seed') + (data.seeds > 1 ? ' (plots show the median)' : '')],
    ['Experiment hash', element('code', {}, data.hash)],
    ['Version', 'cclgym ' + data.version],
  ];
  if (data.results_href) {
    facts.push(['All columns of all rows', element('a', {href: data.results_href}, data.results_href)]);
  }
  cclgymPage.opening(data.name, data.description, data.outcome, facts);

  const unusable = report.rows.filter(row => !report.usable(row)).length;
  const notices = [
    ...data.warnings.map(text => `Warning: ${text}.`),
    report.rows.length < data.cells ? `The run is not complete: ` +
        `${format.count(data.cells - report.rows.length, 'cell')} without a result.` : null,
    unusable ? `${format.count(unusable, 'row')} without a positive time; left out of plots.` :
               null,
    data.unmatched_measured ? `${format.count(data.unmatched_measured, 'measured row')} without a ` +
        `result for the same fabric, collective and number of ranks.` : null,
  ];
  for (const notice of notices) {
    if (notice) page.append(element('p', {class: 'notice'}, notice));
  }
  if (data.skipped.length) {
    page.append(element('details', {}, element('summary', {},
        format.count(data.skipped.length, 'combination') + ' left out'),
        element('ul', {}, ...data.skipped.map(line => element('li', {}, line)))));
  }

  // The sections about the whole experiment come before those of its blocks.
  page.append(...report.dispatcherSection(), ...report.heatmapSection(),
      ...report.publishedSection(), ...report.measuredSpeedupSection());

  if (data.blocks.some(block => block.measured.length)) {
    const sources = report.distinct(data.blocks.flatMap(block => block.measured.map(series =>
        series.source))).filter(source => source);
    page.append(section('Simulated against measured', () => [
      element('p', {class: 'muted'}, 'Simulated time (of the configuration in front of the stroke) ' +
            'divided by the measured time: 1 is exact, above 1 (orange) too slow, below 1 (blue) ' +
            'too fast. Error: exp(mean |ln(simulated / measured)|) − 1 over the sizes shown.' +
            (sources.length ? ` Sources: ${sources.join(', ')}.` : '')),
      ...report.errorTable(data.blocks)]));
  }

  if (data.timelines.length) {
    page.append(section('Timelines', () => [
      element('p', {}, 'Every instruction and transfer of one call. Save the file, open ',
            element('a', {href: 'https://ui.perfetto.dev'}, 'ui.perfetto.dev'),
            ' and choose “Open trace file” (or drop the file on the page); chrome://tracing ' +
            'reads it as well. The file stays in your browser.'),
        element('ul', {}, ...data.timelines.map(timeline => element('li', {},
            element('a', {href: timeline.href, download: true}, timeline.label),
            ...report.linkTable(timeline.links))))]));
  }

  // Leaves only the first few of many blocks open.
  const kMostOpen = 8;
  data.blocks.forEach((block, i) => {
    page.append(section(report.blockTitle(block), () => [
      element('p', {class: 'muted'}, `${format.count(block.ranks, 'rank')} on ` +
          `${format.count(block.nodes, 'node')}, cost model ${block.cost_model}. Each line ` +
          `is an algorithm and protocol with its best configuration at each size` +
          (report.rows.some(report.isChosen) ? ', or a tuner' : '') +
          `; point at it for the values.` + [block.relays, block.interval, block.drops, block.illegal].filter(note => note)
              .map(note => ` ${note[0].toUpperCase()}${note.slice(1)}.`).join('')),
      ...report.plotsOf(block),
      element('h3', {}, 'Best configuration by size'),
      element('p', {class: 'muted'}, 'Time of each algorithm and protocol (with its best ' +
          'configuration) divided by the best time at that size' +
          (block.illegal ? '; below 1: faster, but not legal in NCCL.' : '.')),
      report.bestTable(block), ...report.crossovers(block), ...report.spread(block),
    ], {id: 'block' + i, closed: i >= kMostOpen}));
  });

  page.append(section('All results', () => [report.rows.length ? report.resultsTable() :
      element('p', {}, 'There are no results yet.')], {id: 'all'}));
  page.append(element('footer', {}, `Made by cclgym ${data.version}. Bandwidths are defined ` +
      `as in nccl-tests, in 1e9 bytes per second. Plots by Chart.js (MIT licence).`));
  cclgymPage.contents();
})();
