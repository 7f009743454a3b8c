// Small charts as SVG: a tensor over the runs, and a histogram.

const CHART = { width: 400, height: 64 };

function range(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return [low, high];
}

// Points of a line, in pieces: a value that is not finite ends a piece.
function pieces(values, x, y) {
  const found = [[]];
  values.forEach((value, index) => {
    if (Number.isFinite(value)) found[found.length - 1].push([x(index), y(value)]);
    else if (found[found.length - 1].length) found.push([]);
  });
  return found.filter((piece) => piece.length);
}

function path(points) {
  return points.map(([x, y], index) => `${index ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}`).join('');
}

function band(className, lows, highs, x, y) {
  const indices = lows.map((_, index) => (Number.isFinite(lows[index]) && Number.isFinite(highs[index]) ? index : NaN));
  return pieces(indices, (index) => index, (index) => index).map((piece) => {
    const there = piece.map(([index]) => [x(index), y(highs[index])]);
    const back = piece.map(([index]) => [x(index), y(lows[index])]).reverse();
    return draw('path', { class: className, d: `${path([...there, ...back])}Z` });
  });
}

function isConstant(tensor) {
  return ['mean', 'std', 'min', 'max', 'nan'].every((member) => new Set(decoded(tensor[member])).size <= 1) &&
    decoded(tensor.nan).every((nan) => !nan);
}

function seriesWords(runs, numbers, index) {
  const { mean, std, min, max, nan } = numbers;
  const parts = [['mean', mean], ['std', std], ['min', min], ['max', max]]
    .filter(([, values]) => values.length).map(([name, values]) => `${name} ${number(values[index])}`);
  if (nan[index] > 0) parts.push(`${count(nan[index])} NaN`);
  return `Run ${text(runs[index])}: ${parts.join(', ')}`;
}

// title: text. runs: their numbers. tensor: the lists of the data.
function seriesChart(title, runs, tensor) {
  const numbers = {};
  for (const member of ['mean', 'std', 'min', 'max', 'nan']) numbers[member] = decoded(tensor[member]);
  const values = {};
  for (const member of ['mean', 'std', 'min', 'max']) values[member] = runs.map((_, index) => toNumber(numbers[member][index]));
  let [low, high] = range([...values.mean, ...values.min, ...values.max]);
  const isEmpty = low > high;
  if (isEmpty) [low, high] = [0, 0];
  const labels = [low, high];
  if (low === high) [low, high] = [low - 1, high + 1];
  const { width, height } = CHART;
  const x = (index) => (runs.length > 1 ? (index * width) / (runs.length - 1) : width / 2);
  const y = (value) => height - 3 - ((Math.min(high, Math.max(low, value)) - low) * (height - 6)) / (high - low);
  const bad = runs.map((_, index) => toNumber(numbers.nan[index]) > 0);
  // Runs with NaN, in groups: [first, last].
  const groups = [];
  bad.forEach((isBad, index) => {
    if (isBad && bad[index - 1]) groups[groups.length - 1][1] = index;
    else if (isBad) groups.push([index, index]);
  });
  const half = Math.max(1.5, width / Math.max(1, runs.length - 1) / 2);
  const edge = (value) => Math.min(width, Math.max(0, value));
  const picture = draw('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', class: 'chart', role: 'img' },
    groups.map(([first, end]) => draw('rect', { class: 'chart-bad', x: edge(x(first) - half), y: 0,
      width: edge(x(end) + half) - edge(x(first) - half), height })),
    band('chart-range', values.min, values.max, x, y),
    band('chart-deviation', values.mean.map((mean, index) => mean - values.std[index]),
      values.mean.map((mean, index) => mean + values.std[index]), x, y),
    pieces(values.mean, x, y).map((piece) => (piece.length > 1
      ? draw('path', { class: 'chart-line', d: path(piece) })
      : draw('circle', { class: 'chart-dot', cx: piece[0][0], cy: piece[0][1], r: 2 }))));
  const mark = draw('line', { class: 'chart-mark', y1: 0, y2: height, x1: -9, x2: -9 });
  picture.append(mark);
  const last = runs.length - 1;
  const badRuns = bad.filter(Boolean).length;
  const rest = badRuns ? `NaN in ${count(badRuns)} of ${counted(runs.length, 'run')}, first in run ${text(runs[bad.indexOf(true)])}` : '';
  picture.setAttribute('aria-label', `${text(title)} across ${counted(runs.length, 'run')}. ${seriesWords(runs, numbers, 0)}. ` +
    `${seriesWords(runs, numbers, last)}. ${rest}`);
  const says = make('p', { class: badRuns ? 'chart-says is-bad' : 'chart-says' });
  const idle = rest || `Run ${text(runs[0])} to ${text(runs[last])}`;
  says.textContent = idle;
  picture.addEventListener('pointermove', (event) => {
    const box = picture.getBoundingClientRect();
    const index = Math.min(last, Math.max(0, Math.round(((event.clientX - box.left) / box.width) * last)));
    mark.setAttribute('x1', x(index));
    mark.setAttribute('x2', x(index));
    says.textContent = seriesWords(runs, numbers, index);
  });
  picture.addEventListener('pointerleave', () => {
    mark.setAttribute('x1', -9);
    mark.setAttribute('x2', -9);
    says.textContent = idle;
  });
  return make('figure', { class: 'figure' },
    make('figcaption', null, title),
    make('div', { class: 'chart-box' }, picture,
      make('div', { class: 'chart-scale', 'aria-hidden': 'true' },
        make('span', null, isEmpty ? '' : number(labels[1])), make('span', null, isEmpty ? '' : number(labels[0])))),
    says);
}

function histogram(title, edges, counts) {
  const { width, height } = CHART;
  const most = Math.max(1, ...counts);
  const total = counts.reduce((sum, one) => sum + one, 0);
  const step = width / Math.max(1, counts.length);
  const words = (index) => `${number(edges[index])} to ${number(edges[index + 1])}: ${count(counts[index])}`;
  const fullest = counts.indexOf(Math.max(...counts));
  const bars = counts.map((value, index) => {
    const tall = value > 0 ? Math.max(1, (value * (height - 2)) / most) : 0;
    return draw('rect', { class: 'chart-bar', x: index * step + 0.5, y: height - tall, width: Math.max(0.5, step - 1), height: tall },
      draw('title', null, words(index)));
  });
  const picture = draw('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', class: 'chart', role: 'img',
    'aria-label': `Histogram of ${text(title)}: ${counted(total, 'element')}, fullest from ${words(fullest)}` }, bars);
  return make('figure', { class: 'figure' },
    make('figcaption', null, title),
    make('div', { class: 'chart-box' }, picture,
      make('div', { class: 'chart-scale', 'aria-hidden': 'true' }, make('span', null, count(most)), make('span', null, '0'))),
    make('p', { class: 'chart-says chart-ends' }, make('span', null, number(edges[0])), make('span', null, number(edges[edges.length - 1]))));
}
