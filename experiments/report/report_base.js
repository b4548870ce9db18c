// The report's data and formats of quantities.
'use strict';

const report = {data: cclgymPage.data};

(() => {
  const data = report.data;

  // The values of a column of the page's table, which has them in the shortest of several forms.
  const unpacked = new Map();
  const valuesOf = name => {
    if (unpacked.has(name)) return unpacked.get(name);
    const form = data.table.columns[name];
    let values;
    if (form.of !== undefined) {
      values = valuesOf(form.of);
    } else if (form.values) {
      values = form.values;
    } else if (form.list) {
      values = form.at.map(place => form.list[place]);
    } else if (form.runs) {
      values = [];
      for (let i = 0; i < form.runs.length; i += 2) {
        for (let k = 0; k < form.runs[i + 1]; ++k) values.push(form.runs[i]);
      }
    } else {
      values = Array(data.table.count).fill(form.is);
    }
    unpacked.set(name, values);
    return values;
  };

  // Rows as objects, with the speedup computed for each.
  const names = data.columns.filter(name => data.table.columns[name]);
  report.rows = Array.from({length: data.table.count}, (_, i) => {
    const row = {speedup: data.speedups[i]};
    for (const name of names) row[name] = valuesOf(name)[i];
    return row;
  });

  const missing = '–';
  const isNumber = value => typeof value === 'number' && isFinite(value);

  report.format = {
    missing,
    bytes: cclgymAxes.sizeText,
    // The largest binary unit that divides the size, so that every digit is there: "576000B".
    exactBytes(value) {
      const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
      let unit = 0;
      while (unit + 1 < units.length && value >= 1024 && value % 1024 === 0) {
        value /= 1024;
        ++unit;
      }
      return value + units[unit];
    },
    // Four significant digits with a suitable unit.
    time(us) {
      if (!isNumber(us)) return missing;
      const units = [[1e6, 's'], [1e3, 'ms'], [1, 'µs'], [1e-3, 'ns']];
      const [scale, name] = units.find(([least]) => us >= least) || units[3];
      return report.format.digits(us / scale, 4) + ' ' + name;
    },
    rate(value) {
      return isNumber(value) ? report.format.digits(value, 4) + ' GB/s' : missing;
    },
    ratio(value) {
      if (!isNumber(value)) return missing;
      return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
    },
    percent(value) {
      return isNumber(value) ? (100 * value).toFixed(1) + ' %' : missing;
    },
    fixed(value, decimals) {
      return isNumber(value) ? value.toFixed(decimals) : missing;
    },
    digits(value, count) {
      if (value === 0) return '0';
      const decimals = count - 1 - Math.floor(Math.log10(Math.abs(value)));
      return value.toFixed(Math.min(Math.max(decimals, 0), 12));
    },
    count(number, noun) {
      return number.toLocaleString('en') + ' ' + noun + (number === 1 ? '' : 's');
    },
  };

  report.isNumber = isNumber;
  report.usable = row => isNumber(row.time_us) && row.time_us > 0;

  report.distinct = values => [...new Set(values)];

  report.median = values => {
    const sorted = [...values].sort((a, b) => a - b);
    const middle = sorted.length >> 1;
    return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  };

  report.element = cclgymPage.element;
  report.sizeText = cclgymAxes.sizeText;

  report.blockTitle = block => block.fabric + ', ' + block.collective;

  // True if a tuner chose the row's configuration.
  report.isChosen = config => config.program !== config.algorithm;

  // Properties of a configuration that differ between rows, and so must be shown.
  const varies = name => report.distinct(report.rows.map(row => row[name])).length > 1;
  report.instancesVary = varies('instances');
  report.threadsVary = varies('threads');
  // A protocol's own tiles say nothing, nor do those of a tuner's choice.
  const variesInProtocol = name => {
    const first = new Map();
    return report.rows.some(row => {
      if (report.isChosen(row)) return false;
      const key = row.fabric + ' ' + row.protocol;
      if (!first.has(key)) first.set(key, row[name]);
      return first.get(key) !== row[name];
    });
  };
  report.tilesVary = variesInProtocol('tile_bytes');
  report.slotsVary = variesInProtocol('slots');
  report.tileName = bytes => bytes === 0 ? 'whole' : report.format.exactBytes(bytes);
  report.slotsName = slots => slots === 0 ? 'any' : String(slots);

  report.configName = config => [
    `${config.program} ${config.protocol}`,
    report.format.count(config.channels, 'channel'),
    report.instancesVary ? report.format.count(config.instances, 'instance') : null,
    report.threadsVary ? config.threads + ' threads' : null,
    report.tilesVary ? (config.tile_bytes === 0 ? 'no tiles' :
        'tiles of ' + report.format.exactBytes(config.tile_bytes)) : null,
    report.slotsVary ? (config.slots === 0 ? 'unlimited slots' :
        report.format.count(config.slots, 'slot')) : null,
  ].filter(part => part).join(', ') + (report.isChosen(config) ? ` (${config.algorithm})` : '');

  // Name of a line in a plot or table: an algorithm and protocol, or a tuner.
  report.seriesName = config =>
      report.isChosen(config) ? config.algorithm : `${config.algorithm} ${config.protocol}`;

  // The usable rows of a block, found once for all blocks.
  let byBlock = null;
  const rowsOf = block => {
    const key = ({fabric, collective, nodes, ranks}) =>
        JSON.stringify([fabric, collective, nodes, ranks]);
    if (!byBlock) {
      byBlock = new Map();
      for (const row of report.rows) {
        if (!report.usable(row)) continue;
        if (!byBlock.has(key(row))) byBlock.set(key(row), []);
        byBlock.get(key(row)).push(row);
      }
    }
    return byBlock.get(key(block)) || [];
  };

  // The configurations of a block, each with its points by size: the median over the seeds.
  report.configsOf = block => {
    const configs = new Map();
    for (const row of rowsOf(block)) {
      const {algorithm, program, protocol, channels, instances, threads, tile_bytes, slots} = row;
      const config = {algorithm, program, protocol, channels, instances, threads, tile_bytes,
                      slots};
      const key = JSON.stringify(Object.values(config));
      if (!configs.has(key)) configs.set(key, {...config, sizes: new Map()});
      const sizes = configs.get(key).sizes;
      if (!sizes.has(row.size_bytes)) sizes.set(row.size_bytes, []);
      sizes.get(row.size_bytes).push(row);
    }
    return [...configs.values()].map(config => {
      const points = [...config.sizes].sort((a, b) => a[0] - b[0]).map(([bytes, rows]) => {
        const over = name => {
          const values = rows.map(row => row[name]).filter(isNumber);
          return values.length ? report.median(values) : null;
        };
        return {
          bytes, config, time_us: over('time_us'), algbw: over('algbw_GBps'),
          busbw: over('busbw_GBps'), speedup: over('speedup'),
          min_us: Math.min(...rows.map(row => row.time_min_us)),
          max_us: Math.max(...rows.map(row => row.time_max_us)),
          times_us: rows.map(row => row.time_us),
        };
      });
      return {...config, points};
    });
  };

  // The best of the given configurations at each size, as points of one series.
  report.bestOf = configs => {
    const best = new Map();
    for (const config of configs) {
      for (const point of config.points) {
        const old = best.get(point.bytes);
        if (!old || point.time_us < old.time_us) best.set(point.bytes, point);
      }
    }
    return [...best.values()].sort((a, b) => a.bytes - b.bytes);
  };
})();
