// The pane with everything about one call.

const ROLES = { reads: 'read', writes: 'written', updates: 'updated', makes: 'created', unknown: '' };
const SHOWN_READERS = 6;
// On paper, of the source before and after the line of the call.
const PRINTED_LINES = 6;

function statistics(tensor) {
  return tensor.slice(T.mean, T.measuredAt);
}

class Pane {
  constructor(recording, onClose, onMove) {
    this.recording = recording;
    this.element = byId('pane');
    this.row = -1;
    this.onMove = onMove;
    this.onClose = onClose;
    this.element.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      event.stopPropagation();
      byId('grid').focus();
      if (NARROW.matches) onClose();
    });
  }

  close() {
    this.element.hidden = true;
    this.row = -1;
    byId('split').classList.remove('open', 'over');
    document.body.classList.remove('covered');
  }

  // covers: on a phone the pane covers the table, which the reader must have requested.
  open(row, covers) {
    byId('split').classList.add('open');
    byId('split').classList.toggle('over', covers);
    document.body.classList.toggle('covered', covers && NARROW.matches);
    this.element.hidden = false;
    if (row === this.row) return;
    this.row = row;
    this.element.replaceChildren(...[this.heading(row), this.findings(row), this.difference(row), this.source(row),
      this.origin(row), this.tensors(row), this.runs(row), this.histograms(row), this.files(row)].filter(Boolean));
    this.element.scrollTop = 0;
    for (const line of this.element.querySelectorAll('.source .here')) {
      const box = line.closest('.source');
      box.scrollTop = line.offsetTop - box.clientHeight / 2;
    }
  }

  heading(row) {
    const { recording } = this;
    const { columns } = recording;
    const site = recording.siteOf(row);
    const kernel = recording.kernelOf(row);
    const model = recording.modelOf(row);
    const facts = [
      columns.call[row] >= 0 && `call ${columns.call[row]}`,
      site.line > 0 && `line ${site.line}`,
      text(kernel.kind).replace('_', ' '),
      recording.models.length > 1 && ['model', text(model.number), text(model.name)].join(' '),
      recording.processes.length > 1 && recording.processName(columns.process[row]),
      columns.runs[row] > 1 ? `${counted(columns.runs[row], 'run')}, showing run ${columns.run[row]}`
        : columns.run[row] >= 0 && `run ${columns.run[row]}`,
    ].filter(Boolean);
    const time = recording.time(row);
    const costs = [
      time > 0 && `Median time ${duration(time)} ${columns.device[row] > 0 ? 'on the device' : 'on the host'}`,
      columns.bytes[row] > 0 && `${bytes(columns.bytes[row])} read and written`,
    ].filter(Boolean);
    const badges = FILTERS.filter(([name, , test]) => name !== 'differs' && test(recording, row))
      .map(([name, title]) => make('span', { class: name === 'unmeasured' ? 'badge' : 'badge bad' }, name === 'finding' ? 'Finding' : title));
    const button = (words, label, act) => make('button', { type: 'button', class: 'quiet', 'aria-label': label, title: label, onclick: act }, words);
    return make('header', { class: 'pane-head' },
      make('div', { class: 'pane-bar' },
        make('h2', null, recording.kernelName(row)),
        button('↑', 'Previous call', () => this.onMove(-1)), button('↓', 'Next call', () => this.onMove(1)),
        button('✕', 'Close the details', () => this.onClose())),
      make('p', { class: 'muted' }, facts.join(' · ')),
      costs.length > 0 && make('p', { class: 'muted' }, costs.join(' · ')),
      badges.length > 0 && make('p', { class: 'badges' }, badges));
  }

  section(title, ...content) {
    return make('section', { class: 'part' }, make('h3', null, title), content);
  }

  findings(row) {
    const indices = this.recording.findingsOf.get(row) || [];
    return indices.length > 0 && make('div', { class: 'part' },
      indices.map((index) => findingCard(this.recording, this.recording.findings[index], { isShort: true, isFolded: true })));
  }

  difference(row) {
    const words = this.recording.differences.get(row);
    return words !== undefined && this.section('Differs', make('p', null, words));
  }

  sourceBox(index, line) {
    const source = this.recording.sources[index];
    if (!source) return null;
    const first = source.first_line > 0 ? source.first_line : 1;
    const lines = text(source.text).replace(/\n$/, '').split('\n').map((words, offset) => {
      const isHere = first + offset === line;
      const isFar = line > 0 && Math.abs(first + offset - line) > PRINTED_LINES;
      return make('div', { class: `code-line${isHere ? ' here' : ''}${isFar ? ' far' : ''}`, 'aria-current': isHere ? 'location' : null },
        make('span', { class: 'code-number', 'aria-hidden': 'true' }, first + offset),
        make('span', { class: /^\s*(\/\/|#(?!include|define|pragma|if|endif))/.test(words) ? 'code-text comment' : 'code-text' }, words || ' '));
    });
    return make('div', { class: 'source', tabindex: 0, role: 'region', 'aria-label': `Source ${text(source.name)}` },
      make('div', { class: 'code-lines' }, lines));
  }

  source(row) {
    const site = this.recording.siteOf(row);
    const box = this.sourceBox(site.source, site.line);
    const kernelIndex = this.recording.kernelOf(row).source;
    const kernelBox = kernelIndex !== site.source ? this.sourceBox(kernelIndex, -1) : null;
    if (!box && !kernelBox) return null;
    const name = text((this.recording.sources[site.source] || {}).name);
    return this.section('Source', box && make('p', { class: 'muted one-line', title: name }, site.line > 0 && `Line ${site.line} of `, name), box,
      kernelBox && folded('Source of the kernel', !box, kernelBox));
  }

  origin(row) {
    const site = this.recording.siteOf(row);
    const parts = [];
    const words = (title, names) => {
      if (names.length > 0) parts.push(make('dt', null, title), make('dd', null, names.map((name) => [make('code', null, name), ' '])));
    };
    words('ATen ops', list(site.aten));
    words('Source nodes', list(site.source_nodes));
    words('Graph nodes', list(site.nodes));
    const python = list(site.python);
    if (python.length > 0) {
      parts.push(make('dt', null, 'Python'), make('dd', { class: 'python' }, python.map((line) => make('code', { class: 'block' }, line))));
    }
    return parts.length > 0 && this.section('Origin', make('dl', { class: 'pairs' }, parts));
  }

  link(row) {
    const { recording } = this;
    const call = recording.columns.call[row];
    return make('a', { href: `#row=${row}`, 'data-row': row }, recording.kernelName(row), call >= 0 ? ` (call ${call})` : '');
  }

  // A row of numbers: side, mean, std, min, max, zeros, NaN, Inf.
  numbersOf(side, tensor) {
    const bad = (value) => [number(value), value > 0 ? 'number is-bad' : 'number'];
    const cells = [[side, 'muted']];
    for (const member of ['mean', 'std', 'min', 'max']) {
      const value = tensor[T[member]];
      cells.push([number(value), typeof value === 'string' ? 'number is-bad' : 'number']);
    }
    // A confidential page leaves the zeros out.
    cells.push([number(this.recording.data.confidential ? null : tensor[T.zeros]), 'number zeros'], bad(tensor[T.nan]), bad(tensor[T.inf]));
    return make('tr', null, cells.map(([content, classes]) => make('td', { class: classes }, content)));
  }

  usesOf(row, argument) {
    const detail = this.recording.detailOf(row);
    const writer = list(detail.writers)[argument];
    const readers = list(list(detail.readers)[argument]).filter((one) => one >= 0 && one < this.recording.length && one !== row);
    const parts = [];
    if (writer >= 0 && writer < this.recording.length) parts.push(['Written by ', writer === row ? 'this call' : this.link(writer)]);
    if (readers.length > 0) {
      const links = (rows) => rows.map((one, index) => [index > 0 && ', ', this.link(one)]);
      const more = readers.slice(SHOWN_READERS);
      parts.push(['Read by ', links(readers.slice(0, SHOWN_READERS)),
        more.length > 0 && folded(`and ${count(more.length)} more`, false, links(more))]);
    }
    return parts.map((part) => make('div', null, part));
  }

  // Many elements would push the statistics away.
  value(value) {
    if (value === undefined || value === null) return null;
    const words = text(value);
    return words.length > 60 ? folded('Values', false, make('pre', { tabindex: 0 }, words.trim())) : make('span', { class: 'what' }, `= ${words}`);
  }

  argument(row, argument, known, detail) {
    const { recording } = this;
    const tensorsOf = (side) => list(detail[side]).filter((one) => one[T.argument] === argument);
    const [before, after] = [tensorsOf('before'), tensorsOf('after')];
    const tensor = after[0] || before[0];
    const value = (detail.values || {})[argument];
    const role = ROLES[known.role] ?? text(known.role);
    const name = make('th', { colspan: 8, scope: 'rowgroup' },
      make('code', { class: 'label' }, recording.labelOf(row, argument)),
      known.fqn && make('span', { class: 'muted' }, ` ${text(known.fqn)}`),
      role && make('span', { class: 'badge' }, role),
      known.parameter && make('span', { class: 'muted' }, ` ${text(known.parameter)}`),
      tensor && make('span', { class: 'what' }, recording.layoutText(tensor[T.layout])),
      this.value(value));
    const earlier = (before.find((one) => one[T.measuredAt] !== -1) || [])[T.measuredAt];
    const hash = tensor && tensor[T.hash];
    const notes = [
      earlier !== undefined && make('div', { class: 'muted' },
        `Before: measured ${earlier === -2 ? 'as an input of the run' : `at call ${earlier}`}, unchanged since`),
      hash && make('div', { class: 'muted' }, 'Hash ', make('code', null, hash)),
      ...this.usesOf(row, argument),
    ].filter(Boolean);
    const isSame = before.length === 1 && after.length === 1 && JSON.stringify(statistics(before[0])) === JSON.stringify(statistics(after[0]));
    const lines = isSame ? [this.numbersOf('both', after[0])]
      : [...before.map((one) => this.numbersOf('before', one)), ...after.map((one) => this.numbersOf('after', one))];
    return make('tbody', null, make('tr', { class: 'argument' }, name), lines,
      notes.length > 0 && make('tr', null, make('td', { colspan: 8, class: 'uses' }, notes)));
  }

  // Without details, the pane has the numbers of the table.
  mainTensors(row) {
    const rounded = (value) => (typeof value === 'number' ? Number(value.toPrecision(PACKED_DIGITS)) : value);
    const lines = ['before', 'after'].map((side) => [side, this.recording.mainTensors.tensor(row, side)]).filter(([, tensor]) => tensor)
      .map(([side, tensor]) => this.numbersOf(side, tensor.map(rounded)));
    return lines.length > 0 && make('tbody', null, lines);
  }

  tensors(row) {
    if (!this.recording.hasDetails(row)) {
      const body = this.mainTensors(row);
      return body && this.section('One tensor before and after', this.table(body));
    }
    const detail = this.recording.detailOf(row);
    const known = list(this.recording.siteOf(row).arguments);
    const highest = [...list(detail.before), ...list(detail.after)]
      .reduce((most, one) => Math.max(most, one[T.argument]), known.length - 1);
    const bodies = [];
    for (let index = 0; index <= highest && index < 1000; ++index) bodies.push(this.argument(row, index, known[index] || {}, detail));
    if (bodies.length === 0) return null;
    const isMeasured = list(detail.before).length + list(detail.after).length > 0;
    return this.section('Arguments',
      !isMeasured && make('p', { class: 'muted' }, 'This page has no statistics for this call.'), this.table(bodies, isMeasured));
  }

  table(bodies, hasHead = true) {
    const head = ['', 'Mean', 'Std', 'Min', 'Max', 'Zeros', 'NaN', 'Inf']
      .map((one) => make(one ? 'th' : 'td', { class: one === 'Zeros' ? 'number zeros' : 'number', scope: one ? 'col' : null }, one));
    return make('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': 'Arguments' },
      make('table', { class: 'arguments' }, hasHead && make('thead', null, make('tr', null, head)), bodies));
  }

  runs(row) {
    const series = this.recording.detailOf(row).series || {};
    const runs = decoded(series.runs);
    if (runs.length < 2) return null;
    const title = (tensor) => `${this.recording.labelOf(row, tensor.argument)} ${text(tensor.side)}`;
    // Weights would hide what changes.
    const [changing, constant] = [false, true].map((isRequested) =>
      objects(series.tensors).filter((tensor) => isConstant(tensor) === isRequested));
    if (changing.length + constant.length === 0) return null;
    return this.section('Across runs',
      changing.length > 0 && make('p', { class: 'muted' }, 'Line: mean. Bands: mean ± std, min to max. Red: NaN.'),
      changing.map((tensor) => seriesChart(title(tensor), runs, tensor)),
      constant.length > 0 && make('p', { class: 'muted' }, `The same in all ${count(runs.length)} runs: `,
        constant.map((tensor, index) => [index > 0 && ', ', make('code', null, title(tensor))])));
  }

  histograms(row) {
    const found = objects(this.recording.detailOf(row).histograms)
      .map((one) => ({ ...one, edges: decoded(one.edges), counts: decoded(one.counts).map((value) => (value > 0 ? Number(value) : 0)) }))
      .filter((one) => one.counts.length > 0 && one.edges.length > 1)
      .map((one) => histogram(`${this.recording.labelOf(row, one.argument)} ${text(one.side)}`, one.edges, one.counts));
    return found.length > 0 && this.section('Histogram', found);
  }

  files(row) {
    const detail = this.recording.detailOf(row);
    const line = (words, path) => {
      const address = fileAddress(path);
      const name = make('code', null, path);
      return make('li', null, words, ' ', address ? make('a', { href: address }, name) : name);
    };
    const lines = objects(detail.files).map((file) => line(`${this.recording.labelOf(row, file.argument)} ${text(file.side)}`, file.path));
    if (detail.bundle) lines.unshift(line('Launch', detail.bundle));
    return lines.length > 0 && this.section('Files', make('ul', { class: 'plain' }, lines));
  }
}
