// The page of a simulated job.
'use strict';

(() => {
  const {page, element, table, plot, plotGrid, palette, faded} = cclgymPage;
  const {numbers, pictures, step, timeOf, percent, colourOf, nameOf, drawn, keys, gantt, strip, bars,
         parts, kindsOf} = cclgymJob;
  // The page is short, so that all of it is made at once.
  const section = (title, make) => cclgymPage.section(title, make, {eager: true});
  const share = seconds => step > 0 ? seconds / step : 0;
  const micro = seconds => seconds * 1e6;
  const timeText = us => us > 0 ? cclgymPage.time(us) : '0';
  // Four digits, so that calls of almost equal sizes differ.
  const bytesText = bytes => {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let unit = 0;
    for (; bytes >= 999.5 && unit + 1 < units.length; ++unit) bytes /= 1024;
    return Number(bytes.toPrecision(4)) + units[unit];
  };
  const folded = numbers.simulated_ranks < numbers.ranks;
  const mean = numbers.mean;

  const tuners = numbers.tuners;
  const sentences = [
    `A step takes ${timeOf(step)} on ${numbers.ranks} ranks of ${numbers.fabric}.`,
    `Communication is exposed for ${timeOf(mean.exposed_s)} of it (${percent(share(mean.exposed_s))}), ` +
        'the mean over ranks' + (pictures.worst.label ? '; the maximum is ' +
        `${timeOf(pictures.worst.exposed_s)} (${percent(share(pictures.worst.exposed_s))}), on ` +
        `${pictures.worst.label}.` : '.'),
  ];
  if (tuners.length > 1) {
    const first = tuners[0];
    const best = tuners.reduce((a, b) => b.step_time_s < a.step_time_s ? b : a);
    const saved = first.step_time_s - best.step_time_s;
    sentences.push(saved > 0 ?
        `The best tuner, ${best.tuner}, would save ${timeOf(saved)} of each step ` +
            `(${percent(saved / first.step_time_s)} of that of ${first.tuner}).` :
        `None of the ${tuners.length - 1} other tuners is faster than ${first.tuner}.`);
  }
  sentences.push(...numbers.notes.map(note => `Note: ${note}.`));
  const facts = [['Step time', timeOf(step)],
    ['Exposed communication', percent(share(mean.exposed_s))],
    ['Computation', percent(share(mean.compute_s + mean.overlap_s))],
    ['Calls per step, all ranks', numbers.calls_of_all_ranks.toLocaleString('en')],
    ...(pictures.tuner ? [['Tuner', pictures.tuner]] : []),
    ...(pictures.cost_model ? [['Cost model', pictures.cost_model]] : []),
    ...(folded ? [['Ranks simulated for all', String(numbers.simulated_ranks)]] : [])];
  cclgymPage.opening(`${numbers.job} on ${numbers.fabric}`, '', sentences, facts);

  if (tuners.length > 1) {
    page.append(section('Tuners', () => [table(
        [{name: 'tuner', text: true}, {name: 'step time', format: timeText},
         {name: 'exposed communication', format: timeText},
         {name: 'share of its step', format: percent}, {name: 'speedup', format: cclgymPage.fixed}],
        tuners.map(row => [row.tuner, micro(row.step_time_s), micro(row.exposed_s),
          row.step_time_s > 0 ? row.exposed_s / row.step_time_s : 0, row.speedup])),
    element('p', {class: 'muted'}, 'Speedups are relative to the first tuner.')]));
  }

  if (pictures.tuned.length) {
    page.append(section('Chosen configurations', () => [table(
        [{name: 'communicator', text: true}, {name: 'call', text: true},
         {name: 'size', format: bytesText}, {name: 'of the step', format: percent},
         {name: 'before', text: true}, {name: 'chosen', text: true},
         {name: 'before, alone', format: timeText}, {name: 'chosen, alone', format: timeText},
         {name: 'step then', format: timeText}],
        pictures.tuned.map(([communicator, call, bytes, part, before, chosen, beforeS, chosenS, stepS]) =>
            [communicator, call, bytes, part, before, chosen === before ? 'the same' : chosen,
              micro(beforeS), micro(chosenS), micro(stepS)])),
    element('p', {class: 'muted'}, 'Calls are chosen one after the other, the longest first. Alone: the ' +
        'time of the call without other work. Step then: the step with the choices down to this row.')]));
  }

  page.append(section('Time of ranks', () => [
    keys(() => parts().map(([, name, colour]) => [colour, name])),
    drawn(() => bars([{label: 'mean', ...mean}, ...pictures.bars]), 'job-bars'),
    pictures.bar_ranks < numbers.ranks ? element('p', {class: 'muted'},
        `${numbers.ranks - pictures.bar_ranks} ranks with other times are left out.`) : null]));

  const path = numbers.critical_path;
  const onPath = [[-1, path.compute_s], ...path.communicators.map((one, i) => [i, one.time_s])]
      .filter(([, seconds]) => seconds > 0).sort((a, b) => b[1] - a[1]);
  if (pictures.path.length) {
    page.append(section('Critical path', () => [
      element('p', {class: 'muted'}, 'Each operation starts when the one before is done. A shorter one ' +
          'would shorten the step, until another path is the longest.'),
      keys(() => onPath.map(([kind, seconds]) =>
          [colourOf(kind), `${nameOf(kind)} ${timeOf(seconds)}, ${percent(share(seconds))}`])),
      drawn(() => strip(pictures.path), 'job-svg')]));
  }

  if (pictures.rows.length) {
    const kinds = kindsOf(pictures.rows.flatMap(row => row.lanes.map(lane => lane.boxes)));
    page.append(section('Operations over time', () => [
      element('p', {class: 'muted'}, 'One rank per program, one lane per stream. Striped: the rank has ' +
          'reached a call and waits for others.'),
      keys(() => kinds.map(kind => [colourOf(kind), nameOf(kind)])),
      drawn(() => gantt(pictures.rows), 'job-svg')]));
  }

  // Mean and maximum over links or GPUs, as areas over time.
  const area = (use, word) => {
    const unit = step >= 1 ? [1, 's'] : step >= 1e-3 ? [1e3, 'ms'] : [1e6, 'µs'];
    const points = (values, name) => values.map((value, i) => ({
      x: (i + 0.5) * numbers.use.interval_s * unit[0], y: 100 * value, name,
    }));
    const look = (colour, alpha) => ({borderColor: colour, backgroundColor: faded(colour, alpha),
      fill: 'origin', pointRadius: 0, borderWidth: 1.3, stepped: 'middle'});
    return plot({
      title: `${use.name}, ${use.members} ${folded ? 'simulated' : 'used'} ` +
          `${word}${use.members === 1 ? '' : 's'}`,
      nearest: 'x',
      x: {kind: 'linear', title: `time, ${unit[1]}`, range: {min: 0, max: step * unit[0]},
          text: value => Number(value.toPrecision(4))},
      y: {kind: 'linear', title: '% of capacity', zero: true, range: {min: 0, max: 100}},
      datasets: () => [
        {...look(palette(0), 0.45), data: points(use.mean, 'mean')},
        {...look(palette(1), 0.16), data: points(use.max, 'maximum')},
      ],
      describe: raw => [`${use.name}, ${raw.name}`, `${raw.y.toFixed(1)} % of the capacity`,
        `at ${Number(raw.x.toPrecision(4))} ${unit[1]}`],
    });
  };
  if (numbers.use) {
    page.append(section('Use of links and GPUs', () => {
      const grid = (uses, word, style) => {
        const made = plotGrid(uses.map(use => area(use, word)), null, style);
        return uses.length ? made.grid : null;
      };
      return [keys(() => [[palette(0), 'mean'], [palette(1), 'maximum']]),
        grid(numbers.use.kinds, 'link', 'job-use'), grid(numbers.use.gpus, 'GPU', 'job-use gpus'),
        element('p', {class: 'muted'}, 'Means and maxima are over the links and GPUs that are used ' +
            'during the step. Use of SMs is that of computation, as a share of the GPU’s peak rate.')];
    }));
  }

  const traced = numbers.calls.some(call => call.measured_s !== null) ? ['measured'] : [];
  page.append(section('Calls', () => [
    element('div', {class: 'job-calls'}, table([{name: 'communicator', text: true},
      {name: 'call', text: true}, {name: 'size', format: bytesText}, {name: 'ranks'},
      {name: 'configuration', text: true}, {name: 'calls per rank'}, {name: 'time', format: timeText},
      ...traced.map(name => ({name, format: us => us > 0 ? timeText(us) : '-'})), {name: 'wait', format: timeText},
      {name: 'busbw, GB/s', format: value => value.toFixed(1)},
      {name: 'of the step', format: percent}],
    numbers.calls.map(call => [call.communicator, call.call, call.size_bytes, call.ranks,
      call.configuration, call.calls_per_rank, micro(call.time_s),
      ...traced.map(() => micro(call.measured_s)), micro(call.wait_s), call.busbw_Bps / 1e9, call.share]))),
    element('p', {class: 'muted'}, 'Time: mean from the date at which the last rank has reached the call. ' +
        (traced.length ? 'Measured: mean duration in the trace, in each call that of the rank that waits ' +
        'least. ' : '') +
        'Wait: mean time before that. Share of the step: time in which the busiest rank has one of the calls in progress, waiting included.')]));

  if (numbers.links && numbers.links.length) {
    page.append(section('Busiest links', () => [table(
        [{name: 'link', text: true}, {name: 'kind', text: true}, {name: 'links'},
         {name: 'bytes', format: bytesText}, {name: 'capacity, GB/s',
          format: value => value.toFixed(1)}, {name: 'mean use', format: percent},
         {name: 'peak use', format: percent}],
        numbers.links.map(link => [link.link, link.kind, link.count, link.bytes, link.capacity_Bps / 1e9,
          link.share, link.peak])),
    numbers.links.some(link => link.count > 1) ? element('p', {class: 'muted'},
        'Each row is one of the given number of links, which are used equally.') : null]));
  }
  cclgymPage.contents();
})();
