// Heat maps by size and number of ranks: the best algorithm or tuner, the ratio of two of them, and
// the regret of one of them or of a dispatcher.
'use strict';

(() => {
  const {data, element, format} = report;
  const {colour, faded} = report.drawing;

  // The grids: one for each machine and collective, with the median time over the seeds of the
  // fastest configuration of each algorithm, by ranks and size.
  const makeGrids = () => {
    const grids = new Map();
    for (const row of report.rows) {
      if (!report.usable(row)) continue;
      const machine = data.machines[row.fabric] || row.fabric;
      const key = JSON.stringify([machine, row.collective]);
      if (!grids.has(key)) {
        grids.set(key, {machine, collective: row.collective, ranks: [], sizes: [], names: [],
                        cells: new Map(), times: new Map()});
      }
      const grid = grids.get(key);
      for (const [list, value] of [[grid.ranks, row.ranks], [grid.sizes, row.size_bytes],
                                   [grid.names, row.algorithm]]) {
        if (!list.includes(value)) list.push(value);
      }
      const config = JSON.stringify([row.ranks, row.size_bytes, row.algorithm, row.program,
        row.protocol, row.channels, row.instances, row.threads, row.tile_bytes, row.slots]);
      if (!grid.times.has(config)) grid.times.set(config, {row, times: []});
      grid.times.get(config).times.push(row.time_us);
    }
    for (const grid of grids.values()) {
      for (const {row, times} of grid.times.values()) {
        const key = row.ranks + '/' + row.size_bytes;
        if (!grid.cells.has(key)) grid.cells.set(key, new Map());
        const cell = grid.cells.get(key);
        const time = report.median(times);
        if (!(cell.get(row.algorithm) <= time)) cell.set(row.algorithm, time);
      }
      grid.ranks.sort((a, b) => a - b);
      grid.sizes.sort((a, b) => a - b);
      grid.cell = (ranks, bytes) => grid.cells.get(ranks + '/' + bytes) || new Map();
    }
    return [...grids.values()].filter(grid =>
        grid.names.length > 1 && grid.ranks.length > 1 && grid.sizes.length > 1);
  };

  const bestOf = cell => {
    let best = null;
    for (const [name, time] of cell) {
      if (!best || time < best.time) best = {name, time};
    }
    return best;
  };

  const timesText = cell => [...cell].sort((a, b) => a[1] - b[1])
      .map(([name, time]) => `${name} ${format.time(time)}`).join('\n');

  // A table of cells; paint(cell, ranks, bytes) returns {text, style, more} or null.
  const table = (grid, paint) => element('div', {class: 'scroll'},
      element('table', {class: 'dense heat'},
          element('thead', {}, element('tr', {}, element('th', {class: 'text'}, 'size \\ ranks'),
              ...grid.ranks.map(ranks => element('th', {}, ranks.toLocaleString('en'))))),
          element('tbody', {}, ...grid.sizes.map(bytes => element('tr', {},
              element('td', {class: 'text'}, format.bytes(bytes)),
              ...grid.ranks.map(ranks => {
                const cell = grid.cell(ranks, bytes);
                const painted = paint(cell, ranks, bytes);
                if (!painted) return element('td', {class: 'muted'}, format.missing);
                return element('td', {style: painted.style, title:
                    `${format.bytes(bytes)} on ${ranks.toLocaleString('en')} ranks\n` +
                    timesText(cell) + (painted.note ? '\n' + painted.note : '')}, painted.text,
                painted.more ? element('div', {class: 'muted'}, painted.more) : null);
              }))))));

  const figure = (title, ...content) => element('div', {}, element('h3', {}, title), ...content);

  const bestMap = grid => {
    const baseline = grid.names.find(name => name === data.baseline_algorithm);
    const wins = new Map(grid.names.map(name => [name, 0]));
    const map = table(grid, cell => {
      const best = bestOf(cell);
      if (!best) return null;
      wins.set(best.name, wins.get(best.name) + 1);
      const base = baseline ? cell.get(baseline) : null;
      const ratio = baseline ? base / best.time : null;
      return {text: report.isNumber(ratio) ? format.ratio(ratio) : '',
              style: `background: ${faded(colour(best.name), 0.55)}`};
    });
    const legend = element('div', {class: 'legend'}, ...grid.names.map(name =>
        element('span', {class: 'key'}, element('i', {class: 'band',
          style: `background: ${faded(colour(name), 0.55)}`}), `${name}: ` +
          format.count(wins.get(name), 'cell'))));
    return figure('Best by size and ranks', element('p', {class: 'muted'}, 'Colour: the fastest. ' +
        (baseline ? `Number: time of ${baseline} divided by that of the fastest.` : '')),
    legend, map);
  };

  const select = (label, names, chosen, changed) => element('label', {}, label,
      element('select', {onchange: event => changed(event.target.value)},
          ...names.map(name => element('option', name === chosen ? {value: name, selected: true} :
              {value: name}, name))));

  // A figure that is drawn again when a choice changes.
  const chosenFigure = (title, choices, state, draw) => {
    const place = element('div', {});
    const redraw = () => place.replaceChildren(...draw());
    const controls = element('div', {class: 'controls'}, ...choices.map(([label, key, names]) =>
        select(label, names, state[key], value => {
          state[key] = value;
          redraw();
        })));
    redraw();
    return figure(title, controls, place);
  };

  // Shade of a ratio: full colour from a factor of eight on.
  const shadeOf = ratio => {
    const far = Math.log2(ratio) / 3;
    return `background: rgba(var(--${far > 0 ? 'good' : 'high'}), ` +
        `${(0.6 * Math.min(1, Math.abs(far))).toFixed(3)})`;
  };

  // Published speedups of `of` over `over`, as a function of ranks and size.
  const publishedFor = (grid, of, over) => {
    const found = new Map();
    for (const block of data.published) {
      if (block.fabric !== grid.machine || block.collective !== grid.collective ||
          block.baseline !== over) continue;
      for (const row of block.rows) {
        if (row.algorithms.length && !row.algorithms.includes(of)) continue;
        for (const bytes of grid.sizes) {
          if (bytes >= row.from && (row.to === null || bytes <= row.to)) {
            found.set(block.ranks + '/' + bytes, row);
          }
        }
      }
    }
    return found;
  };

  const firstRatio = grid => {
    for (const block of data.published) {
      if (block.fabric !== grid.machine || block.collective !== grid.collective) continue;
      for (const row of block.rows) {
        const of = grid.names.find(name => row.algorithms.includes(name));
        if (of && of !== block.baseline && grid.names.includes(block.baseline)) {
          return {of, over: block.baseline};
        }
      }
    }
    const over = grid.names.includes(data.baseline_algorithm) ? data.baseline_algorithm :
                                                                grid.names[0];
    return {of: grid.names.filter(name => name !== over).pop(), over};
  };

  const ratioMap = grid => {
    const state = firstRatio(grid);
    return chosenFigure('Ratio of two', [['speedup of ', 'of', grid.names],
                                         ['over ', 'over', grid.names]], state, () => {
      const published = publishedFor(grid, state.of, state.over);
      let close = 0;
      let compared = 0;
      let logs = 0;
      const map = table(grid, (cell, ranks, bytes) => {
        const ratio = cell.get(state.over) / cell.get(state.of);
        if (!report.isNumber(ratio)) return null;
        const row = published.get(ranks + '/' + bytes);
        if (!row) return {text: format.ratio(ratio), style: shadeOf(ratio)};
        const middle = Math.sqrt(row.low * row.high);
        const near = ratio >= data.published_least * row.low &&
            ratio <= data.published_most * row.high;
        ++compared;
        close += near ? 1 : 0;
        logs += Math.abs(Math.log(ratio / middle));
        return {text: format.ratio(ratio), more: format.ratio(middle),
                style: shadeOf(ratio) + (near ? '' : '; outline: 2px solid rgb(var(--high)); ' +
                    'outline-offset: -2px'), note: `published: ${row.source}`};
      });
      return [element('p', {class: 'muted'}, `Time of ${state.over} divided by that of ` +
          `${state.of}: above 1 (blue), ${state.of} is faster. ` + (compared ? 'Below it, the ' +
          `published ratio; ${close} of ${format.count(compared, 'cell')} within 25 % of it, the ` +
          'others framed; mean error exp(mean |ln(simulated / published)|) − 1: ' +
          format.percent(Math.exp(logs / compared) - 1) + '.' : '')), map];
    });
  };

  // Rules whose regret can be shown: dispatchers first, then the algorithms.
  const regretMap = grid => {
    const rules = new Map();
    for (const one of data.dispatchers) {
      const part = one.collectives.find(candidate => candidate.collective === grid.collective);
      if (one.fabric !== grid.machine || !part) continue;
      const choices = new Map(part.cells.map(([ranks, bytes, backend, held_out]) =>
          [ranks + '/' + bytes, {name: one.backends[backend], held_out}]));
      rules.set(one.name, (ranks, bytes) => choices.get(ranks + '/' + bytes));
    }
    for (const name of grid.names) rules.set(name, () => ({name, held_out: false}));
    if (rules.size === grid.names.length && !grid.names.some(report.isDispatcher)) return [];
    const names = [...rules.keys()];
    const state = {rule: names.find(name => rules.size > grid.names.length ||
        report.isDispatcher(name)) || names[0]};
    return [chosenFigure('Regret', [['regret of ', 'rule', names]], state, () => {
      let logs = 0;
      let count = 0;
      let worst = 1;
      const map = table(grid, (cell, ranks, bytes) => {
        const choice = rules.get(state.rule)(ranks, bytes);
        const best = bestOf(cell);
        const ratio = choice && best ? cell.get(choice.name) / best.time : null;
        if (!report.isNumber(ratio)) return null;
        logs += Math.log(ratio);
        ++count;
        worst = Math.max(worst, ratio);
        return {text: ratio === 1 ? '1' : format.ratio(ratio), note: `chosen: ${choice.name}` +
                    (choice.held_out ? ' (a test cell)' : ''),
                style: shadeOf(1 / ratio) + (choice.held_out ? '; outline: 1px solid ' +
                    'var(--muted); outline-offset: -1px' : '')};
      });
      return [element('p', {class: 'muted'}, 'Time of the choice divided by the minimum time. ' +
          `Geometric mean over ${format.count(count, 'cell')}: ` +
          `${format.fixed(Math.exp(logs / count), 3)}; maximum: ${format.ratio(worst)}. ` +
          'Framed cells tested a dispatcher and did not train it.'), map];
    })];
  };

  // Accuracy and regret of the dispatchers, with their null models.
  report.dispatcherSection = () => {
    if (!data.dispatchers.length) return [];
    const heads = ['dispatcher', 'collective', 'rule', 'test cells', 'accuracy', 'of PCCL',
                   'cross-validation', 'regret', 'worst'];
    const lines = data.dispatchers.flatMap(one => one.collectives.flatMap(part =>
        part.scores.map((score, i) => element('tr', {},
            element('td', {class: 'text'}, i ? '' : one.name),
            element('td', {class: 'text'}, i ? '' : part.collective),
            element('td', {class: 'text'}, score.rule),
            element('td', {}, String(part.test_cells)),
            element('td', {class: i ? null : 'total'}, format.fixed(score.accuracy, 3)),
            element('td', {}, i || part.published === null ? '' : format.fixed(part.published, 3)),
            element('td', {}, i ? '' : format.fixed(part.cross_validation, 3)),
            element('td', {}, format.fixed(score.regret, 3)),
            element('td', {}, format.ratio(score.worst))))));
    return [cclgymPage.section('Dispatchers', () => [element('p', {class: 'muted'},
        'Accuracy: fraction of held-out cells whose best backend is named. Regret: geometric mean ' +
        'over these cells of the time of the choice divided by the minimum time. Of PCCL: the ' +
        'accuracy in Table I of arXiv 2504.18658, on measured times of the real machine.'),
    element('div', {class: 'scroll'}, element('table', {class: 'dense'},
        element('thead', {}, element('tr', {}, ...heads.map((head, i) =>
            element('th', i < 3 ? {class: 'text'} : {}, head)))),
        element('tbody', {}, ...lines)))])];
  };

  report.isDispatcher = name => name.startsWith('pccl:') && name !== 'pccl:ring' &&
      name !== 'pccl:rec';

  // The first few are open.
  report.heatmapSection = () => makeGrids().map((grid, i) => cclgymPage.section(
      `${grid.machine}, ${grid.collective}: size by number of ranks`, () => [
        element('div', {class: 'plots wide'}, bestMap(grid), ratioMap(grid), ...regretMap(grid)),
      ], {closed: i >= 4}));
})();
