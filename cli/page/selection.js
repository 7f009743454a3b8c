// Which calls the table shows, and in which order. Shows nothing.

const FILTERS = [
  ['finding', 'Findings', (recording, row) => recording.has(row, FLAGS.finding)],
  ['nan', 'NaN', (recording, row) => recording.has(row, FLAGS.nan)],
  ['inf', 'Inf', (recording, row) => recording.has(row, FLAGS.inf)],
  ['failed', 'Failed', (recording, row) => recording.has(row, FLAGS.failed)],
  ['unfinished', 'Did not end', (recording, row) => recording.has(row, FLAGS.unfinished)],
  ['unmeasured', 'Not measured', (recording, row) => recording.has(row, FLAGS.unmeasured)],
  ['differs', 'Differs', (recording, row) => recording.differences.has(row)],
];
const FIELDS = ['kernel', 'tensor', 'op', 'node', 'file', 'line', 'model'];

class Selection {
  constructor(recording) {
    this.recording = recording;
    this.query = '';
    this.toggles = new Set();
    this.choices = { kernel: -1, kind: '', process: -1, model: -1 };
    this.sort = { column: '', down: false };
    this.words = [];
    this.keys = new Map();
    this.rows = new Uint32Array(0);
    this.positions = new Int32Array(0);
  }

  get isFiltered() {
    const { kernel, kind, process, model } = this.choices;
    return this.query !== '' || this.toggles.size > 0 || kernel >= 0 || kind !== '' || process >= 0 || model >= 0;
  }

  // What a search looks at, site by site, while there is time.
  collectWords(hasTime) {
    const { recording, words } = this;
    while (words.length < recording.sites.length && hasTime()) words.push(recording.words(words.length));
    return words.length === recording.sites.length;
  }

  // One byte per site and word of the query: whether the site matches.
  matchingSites(word) {
    const { recording } = this;
    this.collectWords(() => true);
    const colon = word.indexOf(':');
    const field = colon > 0 ? word.slice(0, colon) : '';
    const requested = FIELDS.includes(field) ? word.slice(colon + 1) : word;
    const matches = new Uint8Array(recording.sites.length);
    this.words.forEach((words, site) => {
      if (FIELDS.includes(field)) matches[site] = field === 'line' ? words.line === requested : words[field].includes(requested);
      else matches[site] = FIELDS.some((one) => one !== 'line' && words[one].includes(requested));
    });
    return matches;
  }

  // Functions that a row must pass.
  tests() {
    const { recording, choices } = this;
    const { columns } = recording;
    const tests = [];
    for (const word of this.query.toLowerCase().split(/\s+/).filter(Boolean)) {
      const byNumber = /^(call|run):(-?\d+)$/.exec(word);
      if (byNumber) {
        tests.push((row) => columns[byNumber[1]][row] === Number(byNumber[2]));
        continue;
      }
      if (/^[a-z]+:$/.test(word)) continue; // a field whose word is not typed yet
      const sites = this.matchingSites(word);
      tests.push((row) => sites[columns.site[row]] === 1);
    }
    for (const [name, , test] of FILTERS) {
      if (this.toggles.has(name)) tests.push((row) => test(recording, row));
    }
    const site = (row) => recording.siteOf(row);
    if (choices.process >= 0) tests.push((row) => columns.process[row] === choices.process);
    if (choices.kernel >= 0) tests.push((row) => site(row).kernel === choices.kernel);
    if (choices.model >= 0) tests.push((row) => site(row).model === choices.model);
    if (choices.kind !== '') tests.push((row) => text(recording.kernelOf(row).kind) === choices.kind);
    return tests;
  }

  // The values to sort by: numbers, so that 100,000 rows sort at once. Unknown values are NaN.
  keysOf(name) {
    if (this.keys.has(name)) return this.keys.get(name);
    const { recording } = this;
    const { value } = COLUMNS.find((one) => one.name === name);
    const values = Array.from({ length: recording.length }, (_, row) => value(recording, row));
    let keys;
    if (values.some((one) => typeof one === 'string')) {
      const order = new Map([...new Set(values)].sort((a, b) => (a < b ? -1 : 1)).map((one, index) => [one, index]));
      keys = Float64Array.from(values, (one) => order.get(one));
    } else {
      keys = Float64Array.from(values);
    }
    this.keys.set(name, keys);
    return keys;
  }

  update() {
    const { recording, sort } = this;
    const tests = this.tests();
    let rows = new Uint32Array(recording.length);
    let found = 0;
    for (let row = 0; row < recording.length; ++row) {
      if (tests.every((test) => test(row))) rows[found++] = row;
    }
    rows = rows.slice(0, found);
    if (sort.column) {
      const keys = this.keysOf(sort.column);
      const sign = sort.down ? -1 : 1;
      rows.sort((a, b) => {
        const [x, y] = [keys[a], keys[b]];
        // Unknown values come last in both directions.
        if (x !== x || y !== y) return x === x ? -1 : y === y ? 1 : a - b;
        return x === y ? a - b : x < y ? -sign : sign;
      });
    }
    this.rows = rows;
    this.positions = new Int32Array(recording.length).fill(-1);
    rows.forEach((row, position) => { this.positions[row] = position; });
  }

  clear() {
    this.query = '';
    this.toggles.clear();
    this.choices = { kernel: -1, kind: '', process: -1, model: -1 };
  }
}
