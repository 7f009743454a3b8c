// Connects the parts: filters, keys, tabs, the address, printing.

const PRINTED_CALLS = 300;
// Beyond that, the search and the table of kernels find one faster.
const MOST_OPTIONS = 1000;
const TABS = ['calls', 'kernels', 'processes'];

class Page {
  constructor() {
    const { data, problem } = readData();
    this.recording = new Recording(data);
    this.selection = new Selection(this.recording);
    showTitle(this.recording);
    showNotices(this.recording, problem);
    showDiff(this.recording);
    showVerdict(this.recording);
    showFindings(this.recording);
    this.makeFilters();
    this.readAddress();
    this.selection.update();
    this.table = new CallTable(this.recording, this.selection, (row, how) => this.select(row, how), (name) => this.sortBy(name));
    this.pane = new Pane(this.recording, () => this.closePane(), (step) => this.table.move(step));
    this.kernels = new KernelTable(this.recording, (kernel) => this.only({ kernel }));
    showProcesses(this.recording, (process) => this.only({ process }));
    this.connect();
    this.showFilters();
    this.showTab(this.tab);
    this.selectFirst();
    this.prepareSearch();
  }

  // So that the first key of a search does not wait.
  prepareSearch() {
    if (!window.requestIdleCallback) return;
    const step = (deadline) => {
      if (!this.selection.collectWords(() => deadline.timeRemaining() > 1)) requestIdleCallback(step);
    };
    requestIdleCallback(step);
  }

  makeFilters() {
    const { recording } = this;
    const { flags } = recording.columns;
    byId('toggles').replaceChildren(...FILTERS.map(([name, title, test]) => {
      let found = 0;
      for (let row = 0; row < flags.length; ++row) found += test(recording, row) ? 1 : 0;
      return found > 0 && make('button', { type: 'button', class: 'toggle', 'aria-pressed': 'false', 'data-filter': name,
        onclick: () => this.toggle(name) }, title, make('span', { class: 'toggle-count' }, count(found)));
    }).filter(Boolean));
    const choice = (name, title, none, options) => options.length > 1 && options.length <= MOST_OPTIONS && make('select', { 'aria-label': title, 'data-choice': name,
      onchange: (event) => this.choose(name, event.target.value) },
    make('option', { value: name === 'kind' ? '' : '-1' }, none), options.map(([value, words]) => make('option', { value }, words)));
    const named = (names) => names.map((words, index) => [index, words]).sort((a, b) => (a[1] < b[1] ? -1 : a[1] > b[1] ? 1 : 0));
    const kinds = [...new Set(recording.kernels.map((kernel) => text(kernel.kind)))].filter(Boolean).sort();
    const sorts = COLUMNS.filter((one) => one.name !== 'sign').flatMap((one) => {
      const title = one.group ? `${one.title} ${one.group}` : one.title;
      return [[one.name, `${title} ↑`], [`-${one.name}`, `${title} ↓`]];
    });
    byId('selects').replaceChildren(...[
      choice('kernel', 'Kernel', 'All kernels', named(recording.kernels.map((one) => text(one.name)))),
      choice('kind', 'Kind', 'All kinds', kinds.map((kind) => [kind, kind.replace('_', ' ')])),
      choice('model', 'Model', 'All models', recording.models.map((_, index) => [index, recording.modelName(index)])),
      choice('process', 'Process', 'All processes', recording.processes.map((_, index) => [index, recording.processName(index)])),
      make('select', { class: 'sort-choice', 'aria-label': 'Sort', id: 'sort-choice', onchange: (event) => {
        const down = event.target.value.startsWith('-');
        this.selection.sort = { column: event.target.value.replace(/^-/, ''), down };
        this.changed();
      } }, make('option', { value: '' }, 'Call order'), sorts.map(([value, words]) => make('option', { value }, words))),
    ].filter(Boolean));
  }

  connect() {
    const search = byId('search');
    search.addEventListener('input', () => {
      this.selection.query = search.value.trim();
      this.changed();
    });
    search.addEventListener('keydown', (event) => {
      if (event.key === 'ArrowDown' || event.key === 'Enter') {
        byId('grid').focus();
        if (this.table.selected < 0 || this.selection.positions[this.table.selected] < 0) this.table.move(1);
      } else if (event.key === 'Escape') {
        if (search.value) {
          search.value = '';
          this.selection.query = '';
          this.changed();
        } else byId('grid').focus();
      } else return;
      event.preventDefault();
    });
    byId('filters').addEventListener('submit', (event) => event.preventDefault());
    byId('clear').addEventListener('click', () => {
      this.selection.clear();
      this.changed();
      search.focus();
    });
    byId('help-button').addEventListener('click', () => byId('help').showModal());
    document.addEventListener('keydown', (event) => this.key(event));
    document.addEventListener('click', (event) => {
      const link = event.target.closest('a[data-row]');
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.follow(Number(link.dataset.row));
    });
    addEventListener('popstate', () => this.addressChanged());
    addEventListener('beforeprint', () => this.printCalls());
    addEventListener('afterprint', () => byId('print-calls').replaceChildren());
    NARROW.addEventListener('change', () => { if (this.table.selected >= 0 && !NARROW.matches) this.pane.open(this.table.selected, false); });
    for (const name of TABS) {
      byId(`tab-${name}`).addEventListener('click', () => this.showTab(name, true));
      byId(`tab-${name}`).addEventListener('keydown', (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        const next = TABS[(TABS.indexOf(name) + step + TABS.length) % TABS.length];
        this.showTab(next, true);
        byId(`tab-${next}`).focus();
        event.preventDefault();
      });
    }
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || byId('help').open) return;
    if (event.target.closest('input, select, textarea')) return;
    if (event.key === '/') {
      this.showTab('calls', true);
      byId('search').focus();
      byId('search').select();
    } else if (event.key === '?') {
      byId('help').showModal();
    } else if (event.key === 'Escape') {
      this.closePane();
    } else if ((event.key === 'j' || event.key === 'k') && this.tab === 'calls') {
      this.table.move(event.key === 'j' ? 1 : -1);
    } else return;
    event.preventDefault();
  }

  // The address

  readAddress() {
    const { recording, selection } = this;
    const parameters = new URLSearchParams(location.hash.slice(1));
    const within = (name, length) => {
      const value = parameters.has(name) ? Number(parameters.get(name)) : -1;
      return Number.isInteger(value) && value >= 0 && value < length ? value : -1;
    };
    selection.query = parameters.get('q') || '';
    selection.toggles = new Set((parameters.get('only') || '').split(',').filter((name) => FILTERS.some(([one]) => one === name)));
    selection.choices = { kernel: within('kernel', recording.kernels.length), kind: parameters.get('kind') || '',
      process: within('process', recording.processes.length), model: within('model', recording.models.length) };
    const sort = parameters.get('sort') || '';
    const name = sort.replace(/^-/, '');
    selection.sort = COLUMNS.some((one) => one.name === name) ? { column: name, down: sort.startsWith('-') } : { column: '', down: false };
    this.tab = TABS.includes(parameters.get('tab')) ? parameters.get('tab') : 'calls';
    this.addressRow = within('row', recording.length);
  }

  writeAddress(isStep) {
    const { selection } = this;
    const parameters = new URLSearchParams();
    if (this.table.selected >= 0) parameters.set('row', this.table.selected);
    if (selection.query) parameters.set('q', selection.query);
    if (selection.toggles.size > 0) parameters.set('only', [...selection.toggles].join(','));
    for (const [name, value] of Object.entries(selection.choices)) {
      if (value !== -1 && value !== '') parameters.set(name, value);
    }
    if (selection.sort.column) parameters.set('sort', `${selection.sort.down ? '-' : ''}${selection.sort.column}`);
    if (this.tab !== 'calls') parameters.set('tab', this.tab);
    const hash = `#${parameters}`;
    if (hash === location.hash || (hash === '#' && !location.hash)) return;
    try {
      if (isStep) history.pushState(null, '', hash);
      else history.replaceState(null, '', hash);
    } catch {
      // A frame without an origin has no address to keep; browsers also limit how often it changes.
    }
  }

  // Keeps the selection in the address once the reader pauses.
  writeAddressSoon() {
    clearTimeout(this.addressTimer);
    this.addressTimer = setTimeout(() => this.writeAddress(false), 250);
  }

  addressChanged() {
    this.readAddress();
    this.selection.update();
    this.table.renew();
    this.showFilters();
    this.showTab(this.tab);
    if (this.addressRow >= 0) this.select(this.addressRow, { open: true, isAddress: true });
    else this.closePane();
  }

  // The selected call

  selectFirst() {
    const first = this.recording.findings.find((finding) => finding.row >= 0 && finding.row < this.recording.length);
    if (this.addressRow >= 0) this.select(this.addressRow, { open: true, isAddress: true });
    else if (first && !NARROW.matches && this.selection.positions[first.row] >= 0) this.select(first.row, { isAddress: true });
  }

  // how.open: the reader requested the details. how.focus: move the focus there.
  select(row, how) {
    const isNew = row !== this.table.selected;
    this.table.selected = row;
    const covers = Boolean(how.open) || (!this.pane.element.hidden && byId('split').classList.contains('over'));
    if (!NARROW.matches || covers) this.pane.open(row, covers);
    this.table.resize();
    this.table.show(row, how.isAddress);
    if (how.focus || (how.open && NARROW.matches)) this.pane.element.focus({ preventScroll: true });
    if (isNew && !how.isAddress) this.writeAddressSoon();
  }

  // A link to a call that the filters hide clears the filters.
  follow(row) {
    if (this.selection.positions[row] < 0) {
      this.selection.clear();
      this.changed();
    }
    this.showTab('calls', true);
    this.select(row, { open: true, isAddress: true });
    clearTimeout(this.addressTimer);
    this.writeAddress(true);
    if (!NARROW.matches) {
      byId('grid').focus({ preventScroll: true });
      byId('workspace').scrollIntoView({ block: 'nearest' });
    }
  }

  closePane() {
    this.pane.close();
    this.table.selected = -1;
    this.table.resize();
    this.table.draw();
    this.writeAddressSoon();
    if (NARROW.matches) byId('grid').focus({ preventScroll: true });
  }

  // Filters, order, tabs

  toggle(name) {
    const { toggles } = this.selection;
    if (!toggles.delete(name)) toggles.add(name);
    this.changed();
  }

  choose(name, value) {
    this.selection.choices[name] = name === 'kind' ? value : Number(value);
    this.changed();
  }

  only(choices) {
    this.selection.clear();
    Object.assign(this.selection.choices, choices);
    this.showTab('calls', true);
    this.changed();
    byId('grid').focus();
  }

  // First as the column reads best, then the other way, then the order of the calls.
  sortBy(name) {
    const { sort } = this.selection;
    const { kind } = COLUMNS.find((one) => one.name === name);
    const firstDown = name !== 'call' && (kind === 'number' || kind === 'sign');
    if (sort.column !== name) this.selection.sort = { column: name, down: firstDown };
    else if (sort.down === firstDown) this.selection.sort = { column: name, down: !firstDown };
    else this.selection.sort = { column: '', down: false };
    this.changed();
  }

  changed() {
    this.selection.update();
    byId('grid').scrollTop = 0;
    this.table.renew();
    this.table.show(this.table.selected);
    this.showFilters();
    this.writeAddressSoon();
  }

  showFilters() {
    const { recording, selection } = this;
    const search = byId('search');
    if (search.value.trim() !== selection.query) search.value = selection.query;
    for (const button of byId('toggles').children) button.setAttribute('aria-pressed', selection.toggles.has(button.dataset.filter));
    for (const choice of byId('selects').querySelectorAll('[data-choice]')) choice.value = String(selection.choices[choice.dataset.choice]);
    byId('sort-choice').value = `${selection.sort.down ? '-' : ''}${selection.sort.column}`;
    const found = selection.rows.length;
    byId('shown').textContent = selection.isFiltered ? `${count(found)} of ${counted(recording.length, 'distinct call')}` : counted(recording.length, 'distinct call');
    byId('clear').hidden = !selection.isFiltered;
    byId('no-calls').hidden = found > 0;
    byId('no-calls').textContent = recording.length > 0 ? 'No call matches. Clear the filters to see all calls.' : 'No model call was recorded.';
  }

  showTab(name, isChosen) {
    this.tab = name;
    for (const one of TABS) {
      const isShown = one === name;
      byId(`tab-${one}`).setAttribute('aria-selected', isShown);
      byId(`tab-${one}`).tabIndex = isShown ? 0 : -1;
      byId(`panel-${one}`).hidden = !isShown;
    }
    this.table.resize();
    if (isChosen) this.writeAddressSoon();
  }

  // Paper shows the first calls of the selection, because the table itself only has those in view.
  printCalls() {
    const { recording, selection } = this;
    const columns = COLUMNS.filter((one) => one.rank < 11 && one.name !== 'process');
    const rows = [...selection.rows.subarray(0, PRINTED_CALLS)];
    const left = selection.rows.length - rows.length;
    byId('print-calls').replaceChildren(
      table('Calls', columns.map((one) => [one.group ? `${one.title} ${one.group}` : one.title, one.kind]),
        rows.map((row) => columns.map((one) => [one.show(recording, row), one.kind])), 'list'),
      left > 0 ? make('p', { class: 'muted' }, `${count(left)} more calls are not printed. Filter them to print others.`) : '');
  }
}

window.aotiDbgPage = new Page();
