// The columns of the table of calls. A narrow table has those with the lowest `rank`.

function main(side, member) {
  return (recording, row) => {
    const tensor = recording.mainTensor(row, side);
    return tensor ? toNumber(tensor[T[member]]) : NaN;
  };
}

function shown(side, member) {
  return (recording, row) => {
    const tensor = recording.mainTensor(row, side);
    const value = tensor ? tensor[T[member]] : '';
    // A column has room for eight characters.
    return tensor ? number(value, Math.abs(value) < 0.01 || !recording.hasDetails(row) ? PACKED_DIGITS : 4) : '';
  };
}

function labelOfMain(side) {
  return (recording, row) => {
    const tensor = recording.mainTensor(row, side);
    return tensor ? recording.labelOf(row, tensor[T.argument]) : '';
  };
}

function statistic(side, member, title, rank, width = 78) {
  return { name: `${side}-${member}`, title, group: side, width, rank, kind: 'number', bad: member === 'nan' || member === 'inf',
    value: main(side, member), show: shown(side, member) };
}

// The sign of a call: the worst of what happened to it.
function sign(recording, row) {
  if (recording.has(row, FLAGS.failed)) return ['✕', 'failed'];
  if (recording.has(row, FLAGS.finding)) return ['●', 'has a finding'];
  if (recording.has(row, FLAGS.unfinished)) return ['◐', 'did not end'];
  if (recording.has(row, FLAGS.nan | FLAGS.inf)) return ['○', 'has NaN or Inf'];
  if (recording.differences.has(row)) return ['≠', 'differs from the other recording'];
  return ['', ''];
}

const SEVERITY = ['', '≠', '○', '◐', '●', '✕'];

const COLUMNS = [
  { name: 'sign', title: '', label: 'State', width: 26, rank: 0, kind: 'sign',
    value: (recording, row) => SEVERITY.indexOf(sign(recording, row)[0]), show: (recording, row) => sign(recording, row)[0] },
  { name: 'process', title: 'Process', width: 76, rank: 5, kind: 'text',
    value: (recording, row) => recording.columns.process[row],
    show: (recording, row) => recording.processName(recording.columns.process[row]) },
  { name: 'model', title: 'Model', width: 84, rank: 14, kind: 'text',
    value: (recording, row) => recording.siteOf(row).model ?? -1,
    show: (recording, row) => recording.modelName(recording.siteOf(row).model) },
  { name: 'call', title: 'Call', width: 54, rank: 1, kind: 'number',
    value: (recording, row) => recording.columns.call[row],
    show: (recording, row) => (recording.columns.call[row] < 0 ? '' : String(recording.columns.call[row])) },
  { name: 'kernel', title: 'Kernel', width: 228, grow: 3, rank: 0, kind: 'name',
    value: (recording, row) => recording.kernelName(row), show: (recording, row) => recording.kernelName(row) },
  { name: 'op', title: 'ATen op', width: 104, grow: 1, rank: 12, kind: 'text',
    value: (recording, row) => list(recording.siteOf(row).aten).join(' '),
    show: (recording, row) => list(recording.siteOf(row).aten).map((one) => text(one).replace(/^aten\./, '')).join(', ') },
  { name: 'before-label', title: 'Tensor', group: 'before', width: 80, rank: 11, kind: 'text',
    value: labelOfMain('before'), show: labelOfMain('before') },
  statistic('before', 'mean', 'Mean', 4),
  statistic('before', 'std', 'Std', 15),
  statistic('before', 'min', 'Min', 7),
  statistic('before', 'max', 'Max', 8),
  statistic('before', 'nan', 'NaN', 13, 50),
  { name: 'after-label', title: 'Tensor', group: 'after', width: 80, rank: 3, kind: 'text',
    value: labelOfMain('after'), show: labelOfMain('after') },
  statistic('after', 'mean', 'Mean', 1),
  statistic('after', 'std', 'Std', 10),
  statistic('after', 'min', 'Min', 6),
  statistic('after', 'max', 'Max', 6),
  statistic('after', 'nan', 'NaN', 1, 50),
  statistic('after', 'inf', 'Inf', 16, 50),
  { name: 'time', title: 'Time', width: 74, rank: 2, kind: 'number',
    value: (recording, row) => recording.time(row) || NaN, show: (recording, row) => duration(recording.time(row)) },
  { name: 'bytes', title: 'Bytes', width: 74, rank: 17, kind: 'number',
    value: (recording, row) => recording.columns.bytes[row] || NaN, show: (recording, row) => bytes(recording.columns.bytes[row]) },
  { name: 'runs', title: 'Runs', width: 50, rank: 9, kind: 'number',
    value: (recording, row) => recording.columns.runs[row], show: (recording, row) => count(recording.columns.runs[row]) },
];

// Those that fit, in their order. Columns that would say the same in every row are left out.
function fittingColumns(recording, width) {
  const useful = COLUMNS.filter(({ name }) =>
    (name !== 'process' || recording.processes.length > 1) && (name !== 'model' || recording.models.length > 1));
  let left = width;
  const fitting = new Set();
  for (const one of [...useful].sort((a, b) => a.rank - b.rank)) {
    if (one.rank > 1 && one.width > left) continue;
    fitting.add(one);
    left -= one.width;
  }
  return useful.filter((one) => fitting.has(one));
}
