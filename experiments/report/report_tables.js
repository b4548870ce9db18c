// Tables: best configuration by size, simulated against measured times, and all results.
'use strict';

(() => {
  const {element, format} = report;

  // Shade of a cell: none at 0, and always light enough for its text to be readable.
  const shade = (variable, strength) =>
      `background: rgba(var(--${variable}), ${Math.max(0, Math.min(0.5, strength)).toFixed(3)})`;

  const sizeHead = sizes => element('thead', {}, element('tr', {}, element('th', {class: 'text'}),
      ...sizes.map(bytes => element('th', {scope: 'col'}, format.bytes(bytes)))));

  // Links of one call that are nearest to their capacity; nothing without links.
  report.linkTable = links => {
    if (!links.length) return [];
    const head = element('thead', {}, element('tr', {},
        element('th', {class: 'text', scope: 'col'}, 'busiest links'),
        ...['rate, GB/s', 'capacity, GB/s', 'share', 'busy'].map(name =>
            element('th', {scope: 'col'}, name))));
    const body = element('tbody', {}, ...links.map(link => element('tr', {},
        element('td', {class: 'text'}, link.link),
        element('td', {}, format.digits(link.rate_GBps, 3)),
        element('td', {}, format.digits(link.capacity_GBps, 3)),
        element('td', {style: shade('good', 0.5 * link.share)},
            `${(100 * link.share).toFixed(1)} %`),
        element('td', {}, format.time(link.busy_us)))));
    return [element('div', {class: 'scroll'}, element('table', {class: 'dense'}, head, body))];
  };

  // One row per configuration, one column per size: time relative to the best at that size.
  report.bestTable = block => {
    const sizes = block.sizes.map(size => size.bytes);
    const groups = new Map();
    for (const config of report.configsOf(block)) {
      const name = report.seriesName(config);
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(config);
    }
    const ratios = element('tbody', {});
    for (const [name, configs] of groups) {
      const points = new Map(report.bestOf(configs).map(point => [point.bytes, point]));
      ratios.append(element('tr', {}, element('td', {class: 'text'}, name),
          ...block.sizes.map(size => {
            const point = points.get(size.bytes);
            if (!point) return element('td', {class: 'muted'}, format.missing);
            const ratio = point.time_us / size.best.time_us;
            // The best has full colour; times of at least four times the best have none.
            return element('td', {
              class: ratio === 1 ? 'best' : null,
              style: shade('good', 0.5 * (1 - Math.log2(ratio) / 2)),
              title: `${report.configName(point.config)}, ${format.bytes(size.bytes)}: ` +
                  format.time(point.time_us),
            }, format.ratio(ratio));
          })));
    }
    const line = (name, text) => element('tr', {}, element('td', {class: 'text'}, name),
        ...block.sizes.map(size => element('td', {}, text(size.best))));
    const best = element('tbody', {},
        ...[
          line('best: channels', config => String(config.channels)),
          report.instancesVary ? line('best: instances', config => String(config.instances)) : null,
          report.rows.some(row => row.legal_in !== '-') ?
              line('best: legal in', config => config.legal_in) : null,
          report.threadsVary ? line('best: threads', config => String(config.threads)) : null,
          report.tilesVary ? line('best: tiles', config => report.tileName(config.tile_bytes)) :
                             null,
          report.slotsVary ? line('best: slots', config => report.slotsName(config.slots)) : null,
        ],
        line('best: time, µs', config => format.digits(config.time_us, 4)),
        line('best: busbw, GB/s', config =>
            report.isNumber(config.busbw_GBps) ? format.digits(config.busbw_GBps, 3) :
                                                 format.missing));
    if (block.sizes.some(size => report.isNumber(size.best.speedup))) {
      best.append(line(`${report.data.baseline_heading}: time, µs`, config =>
          report.isNumber(config.baseline_us) ? format.digits(config.baseline_us, 4) :
                                                format.missing));
      best.append(line('best: speedup', config => format.ratio(config.speedup)));
    }
    return element('div', {class: 'scroll'},
        element('table', {class: 'dense'}, sizeHead(sizes), ratios, best));
  };

  // One row per measured series and choice of simulated times: simulated / measured by size.
  report.errorTable = blocks => {
    const withMeasured = blocks.filter(block => block.measured.length > 0);
    return withMeasured.map(block => {
      const sizes = report.distinct(block.measured.flatMap(series =>
          series.own.ratios.map(([bytes]) => bytes))).sort((a, b) => a - b);
      const head = sizeHead(sizes);
      head.firstChild.append(element('th', {}, 'error'));
      const rows = block.measured.flatMap(series => [['best ring', series.best_ring],
                                                     [series.compared_with, series.own]]
          .filter(([, error]) => error.ratios.length > 0)
          .map(([name, error]) => {
            const ratios = new Map(error.ratios);
            return element('tr', {},
                element('td', {class: 'text'}, `${name} / ${series.config} (${series.system})`),
                ...sizes.map(bytes => {
                  const ratio = ratios.get(bytes);
                  if (!ratio) return element('td', {class: 'muted'}, format.missing);
                  // Ratios of at least two, or at most a half, have full colour.
                  const far = Math.log2(ratio);
                  return element('td', {style: shade(far < 0 ? 'good' : 'high',
                      0.5 * Math.abs(far))}, format.ratio(ratio));
                }), element('td', {class: 'total'}, format.percent(error.error)));
          }));
      return element('div', {}, element('h3', {}, report.blockTitle(block)),
          element('div', {class: 'scroll'},
              element('table', {class: 'dense'}, head, element('tbody', {}, ...rows))));
    });
  };

  // Columns of the table of all results: key, heading, and format of a value.
  const shown = [
    ['fabric', 'fabric'], ['nodes', 'nodes'], ['ranks', 'ranks'],
    ['collective', 'collective'], ['algorithm', 'algorithm'], ['program', 'program'],
    ['protocol', 'protocol'], ['channels', 'channels'], ['instances', 'instances'],
    ['threads', 'threads'], ['tile_bytes', 'tiles', report.tileName],
    ['slots', 'slots', report.slotsName], ['legal_in', 'legal in'], ['size_bytes', 'size', format.exactBytes],
    ['seed', 'seed'], ['repetitions', 'repetitions'],
    ['time_us', 'time, µs', value => format.fixed(value, 3)],
    ['time_min_us', 'least, µs', value => format.fixed(value, 3)],
    ['time_max_us', 'most, µs', value => format.fixed(value, 3)],
    ['algbw_GBps', 'algbw, GB/s', value => format.fixed(value, 3)],
    ['busbw_GBps', 'busbw, GB/s', value => format.fixed(value, 3)],
    ['speedup', 'speedup', format.ratio], ['steps', 'steps'], ['flows', 'flows'],
    ['engine', 'engine'], ['cost_model', 'cost model'], ['cost_model_hash', 'cost model hash'],
    ['version', 'version'],
  ].map(([key, heading, show]) => ({key, heading, show: show || String}));
  const always = ['fabric', 'collective', 'algorithm', 'protocol', 'channels', 'size_bytes',
                  'time_us', 'algbw_GBps', 'busbw_GBps'];
  const choices = ['fabric', 'collective', 'algorithm', 'protocol', 'channels', 'size_bytes'];

  report.resultsTable = () => {
    const rows = report.rows;
    const valuesOf = key => report.distinct(rows.map(row => row[key]));
    const spread = rows.some(row => row.time_min_us !== row.time_max_us);
    const columns = shown.filter(({key}) => {
      if (key === 'time_min_us' || key === 'time_max_us') return spread;
      if (key === 'program') return rows.some(report.isChosen);
      if (key === 'speedup') return rows.some(row => report.isNumber(row.speedup));
      return always.includes(key) || valuesOf(key).length > 1;
    });
    const constant = shown.filter(column => !columns.includes(column) &&
        !['time_min_us', 'time_max_us', 'speedup', 'program'].includes(column.key) && rows.length > 0);
    const isText = Object.fromEntries(columns.map(({key}) =>
        [key, rows.some(row => typeof row[key] === 'string')]));
    // Texts that the filter searches: the complete configuration, as in a cell's key.
    const haystacks = rows.map(row => [row.fabric, row.collective, row.algorithm, row.program,
      row.protocol, 'c' + row.channels, 'r' + row.instances, 't' + row.threads,
      format.exactBytes(row.size_bytes), 's' + row.seed].join(' ').toLowerCase());

    let pageSize = 200;
    const paperSize = 5000;  // rows on paper; a browser prints more of them too slowly
    let page = 0;
    let sorting = {key: null, ascending: true};
    const chosen = {};
    let visible = [];

    const body = element('tbody', {});
    const status = element('span', {class: 'muted', 'aria-live': 'polite'});
    const fill = () => {
      const pages = Math.max(1, Math.ceil(visible.length / pageSize));
      page = Math.min(Math.max(page, 0), pages - 1);
      const part = visible.slice(page * pageSize, (page + 1) * pageSize);
      body.replaceChildren(...part.map(i => element('tr', {}, ...columns.map(({key, show}) =>
          element('td', {class: isText[key] ? 'text' : null},
              rows[i][key] === null ? format.missing : show(rows[i][key]))))));
      const first = visible.length ? page * pageSize + 1 : 0;
      status.textContent = `${first} to ${page * pageSize + part.length} of ` +
          format.count(visible.length, 'row') +
          (visible.length < rows.length ? ` that match (of ${rows.length.toLocaleString('en')})` :
                                          '');
      paper.textContent = status.textContent + '; results.csv has all rows and columns';
      back.disabled = page === 0;
      forward.disabled = page === pages - 1;
    };
    const paper = element('p', {class: 'muted paper'});
    addEventListener('beforeprint', () => { pageSize = paperSize; page = 0; fill(); });
    addEventListener('afterprint', () => { pageSize = 200; fill(); });
    const turn = by => { page += by; fill(); frame.scrollTop = 0; };
    const back = element('button', {class: 'page', type: 'button', onclick: () => turn(-1)},
        'Previous');
    const forward = element('button', {class: 'page', type: 'button', onclick: () => turn(1)},
        'Next');

    const compare = (a, b) => {
      if (a === b) return 0;
      if (a === null) return 1;  // missing values come last in both orders
      if (b === null) return -1;
      const order = typeof a === 'number' && typeof b === 'number' ? a - b :
          String(a).localeCompare(String(b), 'en', {numeric: true});
      return sorting.ascending ? order : -order;
    };
    const refresh = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(word => word);
      visible = [];
      for (let i = 0; i < rows.length; ++i) {
        if (Object.entries(chosen).every(([key, value]) => String(rows[i][key]) === value) &&
            words.every(word => haystacks[i].includes(word))) {
          visible.push(i);
        }
      }
      if (sorting.key) {
        visible.sort((a, b) => compare(rows[a][sorting.key], rows[b][sorting.key]) || a - b);
      }
      page = 0;
      fill();
    };

    const search = element('input', {type: 'search', placeholder: 'Filter, e.g. ring c4 64KiB',
      'aria-label': 'Filter the results', oninput: refresh});
    const selects = choices.map(key => shown.find(column => column.key === key))
        .filter(({key}) => valuesOf(key).length > 1).map(({key, heading, show}) => {
          const values = valuesOf(key);
          if (values.every(value => typeof value === 'number')) values.sort((a, b) => a - b);
          const select = element('select', {onchange: () => {
            if (select.value === '') delete chosen[key];
            else chosen[key] = select.value;
            refresh();
          }}, element('option', {value: ''}, 'all'),
          ...values.map(value => element('option', {value: String(value)}, show(value))));
          return element('label', {}, heading, select);
        });

    const heads = columns.map(({key, heading}) => {
      const head = element('th', {scope: 'col', class: isText[key] ? 'text' : null,
        'aria-sort': 'none'}, element('button', {type: 'button', onclick: () => {
        sorting = {key, ascending: sorting.key === key ? !sorting.ascending : true};
        for (const other of heads) other.setAttribute('aria-sort', 'none');
        head.setAttribute('aria-sort', sorting.ascending ? 'ascending' : 'descending');
        for (const other of heads) other.querySelector('i').textContent = '';
        head.querySelector('i').textContent = sorting.ascending ? ' ▲' : ' ▼';
        refresh();
      }}, heading, element('i', {'aria-hidden': 'true', style: 'font-style: normal'})));
      return head;
    });
    const frame = element('div', {class: 'scroll', tabindex: '0', role: 'region',
      'aria-label': 'All results'}, element('table', {},
      element('thead', {}, element('tr', {}, ...heads)), body));
    refresh();
    const same = constant.map(({key, heading, show}) =>
        heading + ' ' + (rows[0][key] === null ? format.missing : show(rows[0][key])));
    return element('div', {id: 'results'},
        same.length ? element('p', {class: 'muted'},
            'Left out because equal in every row: ' + same.join(', ') + '.') : null,
        element('div', {class: 'controls'}, search, ...selects, back, forward, status), paper,
        frame);
  };
})();
