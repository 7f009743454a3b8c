// The recording as the page's data has it, with what is absent filled in. Shows nothing.

const FLAGS = { nan: 1, inf: 2, finding: 4, failed: 8, unfinished: 16, unmeasured: 32 };
// Where a tensor's numbers are in the lists of the data.
const T = { argument: 0, layout: 1, mean: 2, std: 3, min: 4, max: 5, zeros: 6, nan: 7, inf: 8, measuredAt: 9, hash: 10 };
// Memory that a call only writes means nothing before the call, and what it only reads says nothing new after it.
const SIDE_ROLES = { before: [['reads', 'updates'], ['unknown']], after: [['writes', 'updates', 'makes'], ['unknown']] };
// Completes a shorter list: nothing was measured, or the rest is as usual.
const UNMEASURED = [null, null, null, null, null, null, null, -1];
const USUAL = [0, 0, 0, -1];

function readData() {
  const element = byId('data');
  let data = null;
  let problem = '';
  try {
    data = JSON.parse(element.textContent);
  } catch (error) {
    problem = `The data of this page is damaged: ${error.message}`;
  }
  element.textContent = '';
  if (data === null || typeof data !== 'object') data = {};
  if (!problem && data.format !== 'aoti-dbg-page') problem = 'This page has no data of a recording.';
  return { data, problem };
}

// A list of the data in its short forms: runs of equal values, differences, a dictionary.
function decoded(values) {
  if (Array.isArray(values)) return values;
  if (values === null || typeof values !== 'object') return [];
  if (values.rle) {
    const all = [];
    for (let index = 0; index + 1 < values.rle.length; index += 2) {
      for (let left = values.rle[index + 1]; left > 0; --left) all.push(values.rle[index]);
    }
    return all;
  }
  if (values.delta) {
    let sum = 0;
    return decoded(values.delta).map((step) => (sum += step));
  }
  if (values.dict) {
    const dictionary = decoded(values.dict);
    return decoded(values.index).map((index) => dictionary[index]);
  }
  return [];
}

function decodedSites(sites) {
  const whole = (site) => ({ ...site, arguments: objects(site.arguments) });
  if (Array.isArray(sites) || !sites) return objects(sites).map(whole);
  const [kernels, models, lines, sources] = ['kernel', 'model', 'line', 'source'].map((name) => decoded(sites[name]));
  const more = sites.more || {};
  return kernels.map((kernel, index) =>
    whole({ kernel, model: models[index] ?? -1, line: lines[index] ?? 0, source: sources[index] ?? -1, ...more[index] }));
}

function wholeTensor(tensor) {
  if (!Array.isArray(tensor)) return null;
  if (tensor.length <= T.mean) return [...tensor, ...UNMEASURED];
  return tensor.length <= T.measuredAt ? [...tensor, ...USUAL.slice(tensor.length - T.zeros)] : tensor;
}

// Fills a column: a list, or one value for all rows, or absent.
function column(values, length, missing) {
  const numbers = new Float64Array(length).fill(typeof values === 'number' ? values : missing);
  list(values).slice(0, length).forEach((value, row) => {
    numbers[row] = typeof value === 'number' ? value : value === null ? missing : toNumber(value);
  });
  return numbers;
}

class Recording {
  constructor(data) {
    this.data = data;
    for (const name of ['findings', 'processes', 'models', 'kernels', 'sources']) this[name] = objects(data[name]);
    for (const name of ['dtypes', 'layouts', 'details']) this[name] = list(data[name]);
    this.sites = decodedSites(data.sites);
    this.wholeDetails = new Map();
    const rows = {};
    for (const [name, values] of Object.entries(data.rows || {})) rows[name] = typeof values === 'number' ? values : decoded(values);
    const length = Math.max(0, ...Object.values(rows).map((values) => list(values).length));
    this.length = length;
    this.columns = {
      site: column(rows.site, length, -1), process: column(rows.process, length, 0),
      call: column(rows.call, length, -1), runs: column(rows.runs, length, 1), run: column(rows.run, length, -1),
      host: column(rows.host_ns, length, 0), device: column(rows.device_ns, length, 0),
      bytes: column(rows.bytes, length, 0), flags: column(rows.flags, length, 0),
      detail: column(rows.detail, length, -1),
    };
    this.mainTensors = new MainTensors(data.main, length);
    const diff = data.diff || {};
    this.differences = new Map(list(diff.rows).filter(Array.isArray));
    this.findingsOf = new Map();
    this.findings.forEach((finding, index) => {
      if (typeof finding.row !== 'number') return;
      if (!this.findingsOf.has(finding.row)) this.findingsOf.set(finding.row, []);
      this.findingsOf.get(finding.row).push(index);
    });
  }

  siteOf(row) { return this.sites[this.columns.site[row]] || {}; }
  kernelOf(row) { return this.kernels[this.siteOf(row).kernel] || {}; }
  modelOf(row) { return this.models[this.siteOf(row).model] || {}; }
  hasDetails(row) { return Boolean(this.details[this.columns.detail[row]]); }
  detailOf(row) {
    const index = this.columns.detail[row];
    const detail = this.details[index];
    if (!detail) return {};
    if (!this.wholeDetails.has(index)) {
      this.wholeDetails.set(index, { ...detail, before: list(detail.before).map(wholeTensor).filter(Boolean),
        after: list(detail.after).map(wholeTensor).filter(Boolean) });
    }
    return this.wholeDetails.get(index);
  }
  has(row, flag) { return (this.columns.flags[row] & flag) !== 0; }
  kernelName(row) { return text(this.kernelOf(row).name) || '(unknown kernel)'; }
  processName(index) {
    const process = this.processes[index] || {};
    return text(process.rank) !== '' ? `rank ${text(process.rank)}` : `pid ${text(process.pid) || index}`;
  }
  // Names are often the same: a model is loaded twice, or by several processes. Findings have the numbers.
  modelName(index) {
    const model = this.models[index];
    if (!model) return '';
    const name = text(model.number) === '' ? text(model.name) : `${text(model.number)} · ${text(model.name)}`;
    return this.processes.length > 1 ? `${this.processName(model.process)} · ${name}` : name;
  }
  // A device's time is the better one.
  time(row) { return this.columns.device[row] || this.columns.host[row]; }

  labelOf(row, argument) {
    if (argument < 0) return '';
    const known = list(this.siteOf(row).arguments)[argument] || {};
    return text(known.label) || `argument ${argument}`;
  }

  layoutText(index) {
    const layout = this.layouts[index];
    if (!Array.isArray(layout)) return '';
    const sizes = layout[1] === null || layout[1] === undefined ? '?' : list(layout[1]).join(', ');
    return `${text(this.dtypes[layout[0]]) || 'unknown'} [${sizes}]${layout[2] ? ` ${text(layout[2])}` : ''}`;
  }

  // The tensor that represents a side of a call, of what it reads or of what it writes: the first with NaN, then the
  // first with Inf, then the first measured.
  mainTensor(row, side) {
    const known = list(this.siteOf(row).arguments);
    if (!this.hasDetails(row)) return this.mainTensors.tensor(row, side);
    const all = list(this.detailOf(row)[side]);
    const withRole = (roles) => all.filter((one) => roles.includes((known[one[T.argument]] || {}).role || 'unknown'));
    const tensors = SIDE_ROLES[side].map(withRole).find((some) => some.length > 0) || all;
    return tensors.find((one) => one[T.nan] > 0) || tensors.find((one) => one[T.inf] > 0) ||
      tensors.find((one) => one[T.mean] !== null && one[T.mean] !== undefined) || tensors[0] || null;
  }

  // For a search, in lower case, by field. Rows of one site share it.
  words(siteIndex) {
    const site = this.sites[siteIndex] || {};
    const kernel = this.kernels[site.kernel] || {};
    const lower = (...parts) => parts.flat().map(text).join('\n').toLowerCase();
    const source = this.sources[site.source] || {};
    return {
      kernel: lower(kernel.name, kernel.kind),
      tensor: lower(list(site.arguments).map((one) => [one.label, one.fqn, one.parameter])),
      op: lower(list(site.aten)),
      node: lower(list(site.source_nodes), list(site.nodes)),
      file: lower(source.name, list(site.python)),
      line: text(site.line),
      model: lower((this.models[site.model] || {}).name),
    };
  }
}
