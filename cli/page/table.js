// The table of calls. Only the rows in view have elements, so its size does not matter.

const NARROW = matchMedia('(max-width: 720px)');
const SPARE_ROWS = 6;

class CallTable {
  constructor(recording, selection, onSelect, onSort) {
    Object.assign(this, { recording, selection, onSelect, onSort });
    this.grid = byId('grid');
    this.head = byId('grid-head');
    this.body = byId('grid-body');
    this.selected = -1;
    this.lines = [];
    this.grid.addEventListener('scroll', () => this.soon(), { passive: true });
    this.grid.addEventListener('keydown', (event) => this.key(event));
    this.body.addEventListener('click', (event) => {
      const line = event.target.closest('[role=row]');
      if (line && line.dataset.row) this.onSelect(Number(line.dataset.row), { open: true });
    });
    new ResizeObserver(() => this.resize()).observe(this.grid);
    NARROW.addEventListener('change', () => this.resize());
    this.resize();
  }

  get rowHeight() { return NARROW.matches ? 58 : 26; }

  resize() {
    const width = this.grid.clientWidth;
    if (width === 0) return;
    const columns = fittingColumns(this.recording, NARROW.matches ? Infinity : width - 12);
    const names = columns.map((one) => one.name).join();
    if (names !== this.names) {
      this.names = names;
      this.columns = columns;
      this.grid.style.setProperty('--columns', columns.map(({ width: least, grow }) =>
        (grow ? `minmax(${least}px, ${grow}fr)` : `${least}px`)).join(' '));
      this.grid.style.setProperty('--least', `${columns.reduce((sum, one) => sum + one.width, 12)}px`);
      this.lines = [];
      this.body.replaceChildren();
      this.grid.setAttribute('aria-colcount', columns.length);
    }
    this.drawHead();
    this.draw();
  }

  drawHead() {
    const { sort } = this.selection;
    const groups = [];
    this.columns.forEach(({ group }, index) => {
      const last = groups[groups.length - 1];
      if (last && last.group === group) ++last.length;
      else groups.push({ group, start: index + 1, length: 1 });
    });
    const titles = { before: 'Before', after: 'After' };
    const above = groups.filter(({ group }) => group).map(({ group, start, length }) => {
      const title = make('span', { class: 'group' }, titles[group]);
      title.style.gridColumn = `${start} / span ${length}`;
      return title;
    });
    const head = this.columns.map((one) => {
      const isSorted = sort.column === one.name;
      const label = one.label || one.title;
      const spoken = one.group ? `${one.title} ${one.group} the call` : label;
      return make('div', {
        role: 'columnheader', class: `cell ${one.kind}${one.group ? ' grouped' : ''}`,
        'aria-sort': isSorted ? (sort.down ? 'descending' : 'ascending') : 'none',
      }, make('button', { type: 'button', tabindex: -1, 'aria-label': `Sort by ${spoken}`, 'data-column': one.name,
        onclick: () => this.onSort(one.name) }, one.title, isSorted ? (sort.down ? ' ↓' : ' ↑') : ''));
    });
    const lineAbove = make('div', { class: 'line groups', role: 'presentation', 'aria-hidden': 'true' }, above);
    this.head.replaceChildren(lineAbove, make('div', { class: 'line', role: 'row', 'aria-rowindex': 1 }, head));
  }

  // Draws at most once per frame.
  soon() {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      this.isWaiting = false;
      this.draw();
    });
  }

  newLine() {
    const cells = this.columns.map((one) => make('div', { role: 'gridcell', class: `cell ${one.kind} of-${one.name}` }));
    const element = make('div', { class: 'line', role: 'row' }, cells);
    this.body.append(element);
    return { element, cells, row: -1 };
  }

  draw() {
    if (!this.columns) return;
    const { rows } = this.selection;
    const height = this.rowHeight;
    this.body.style.height = `${rows.length * height}px`;
    this.grid.setAttribute('aria-rowcount', rows.length + 1);
    const first = Math.max(0, Math.floor(this.grid.scrollTop / height) - SPARE_ROWS);
    const last = Math.min(rows.length, Math.ceil((this.grid.scrollTop + this.grid.clientHeight) / height) + SPARE_ROWS);
    while (this.lines.length < last - first) this.lines.push(this.newLine());
    this.lines.forEach((line, index) => {
      const position = first + index;
      line.element.hidden = position >= last;
      if (position < last) this.drawLine(line, position, rows[position], height);
    });
    const active = this.lines.find(({ element, row }) => !element.hidden && row === this.selected);
    if (active) this.grid.setAttribute('aria-activedescendant', active.element.id);
    else this.grid.removeAttribute('aria-activedescendant');
  }

  drawLine(line, position, row, height) {
    const { recording } = this;
    const { element } = line;
    element.style.transform = `translateY(${position * height}px)`;
    element.setAttribute('aria-rowindex', position + 2);
    element.setAttribute('aria-selected', row === this.selected);
    element.classList.toggle('selected', row === this.selected);
    element.classList.toggle('odd', position % 2 === 1);
    if (line.row === row) return;
    line.row = row;
    element.id = `call-${row}`;
    element.dataset.row = row;
    element.classList.toggle('bad', recording.has(row, FLAGS.finding | FLAGS.failed));
    this.columns.forEach((one, index) => {
      const cell = line.cells[index];
      const words = one.show(recording, row);
      cell.textContent = words;
      if (one.kind === 'sign') {
        const meaning = sign(recording, row)[1];
        if (meaning) cell.setAttribute('aria-label', meaning);
        else cell.removeAttribute('aria-label');
        cell.title = meaning;
        cell.classList.toggle('is-difference', words === '≠');
      } else if (one.kind === 'name' || one.kind === 'text') {
        cell.title = words;
      }
      cell.classList.toggle('is-bad', /^(NaN|-?Inf)$/.test(words) || (Boolean(one.bad) && one.value(recording, row) > 0));
      cell.classList.toggle('is-zero', Boolean(one.bad) && words === '0');
    });
  }

  // After another filter or order.
  renew() {
    this.drawHead();
    this.draw();
  }

  // isCentered: for a row that the reader did not reach step by step.
  show(row, isCentered) {
    const position = row >= 0 ? this.selection.positions[row] : -1;
    if (position < 0) return;
    const height = this.rowHeight;
    const top = position * height;
    const room = this.grid.clientHeight - this.head.offsetHeight;
    const isInView = top >= this.grid.scrollTop && top + height <= this.grid.scrollTop + room;
    if (isCentered && !isInView) this.grid.scrollTop = top - (room - height) / 2;
    else if (top < this.grid.scrollTop) this.grid.scrollTop = top;
    else if (top + height > this.grid.scrollTop + room) this.grid.scrollTop = top + height - room;
  }

  move(step) {
    const { rows, positions } = this.selection;
    if (rows.length === 0) return;
    const now = this.selected >= 0 ? positions[this.selected] : -1;
    const start = now >= 0 ? now : step === -1 ? rows.length : -1;
    const next = Math.min(rows.length - 1, Math.max(0, start + step));
    this.onSelect(rows[next], {});
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.grid) return;
    const page = Math.max(1, Math.floor(this.grid.clientHeight / this.rowHeight) - 2);
    const steps = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in steps) this.move(steps[event.key]);
    else if (event.key === 'Enter' && this.selected >= 0) this.onSelect(this.selected, { open: true, focus: true });
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
