// The tab with one line per kernel.

const SHOWN_KERNELS = 200;
const KERNEL_COLUMNS = [
  ['name', 'Kernel', ''], ['kind', 'Kind', ''], ['count', 'Calls', 'number'], ['time', 'Time', 'number'], ['share', 'Share', 'share'],
  ['each', 'Per call', 'number'], ['bytes', 'Bytes', 'number'], ['findings', 'Findings', 'number'],
];

class KernelTable {
  constructor(recording, onKernel) {
    const total = recording.kernels.reduce((sum, kernel) => sum + (kernel.time_ns || 0), 0);
    this.lines = recording.kernels.map((kernel, index) => ({
      index, name: text(kernel.name), kind: text(kernel.kind).replace('_', ' '), count: kernel.count || 0, time: kernel.time_ns || 0,
      source: kernel.time, share: total > 0 ? (kernel.time_ns || 0) / total : 0,
      each: kernel.count > 0 ? (kernel.time_ns || 0) / kernel.count : 0, bytes: kernel.bytes || 0, findings: kernel.findings || 0,
    }));
    this.most = this.lines.reduce((most, line) => Math.max(most, line.share), 0) || 1;
    this.onKernel = onKernel;
    this.sort = { by: total > 0 ? 'time' : 'count', down: true };
    this.all = false;
    this.panel = byId('panel-kernels');
    this.show();
  }

  show() {
    const { by, down } = this.sort;
    const order = (a, b) => (a[by] < b[by] ? -1 : a[by] > b[by] ? 1 : a.index - b.index);
    const lines = [...this.lines].sort((a, b) => (down ? order(b, a) : order(a, b)));
    const head = KERNEL_COLUMNS.map(([name, title, className]) => make('th', {
      scope: 'col', class: className, 'aria-sort': by === name ? (down ? 'descending' : 'ascending') : 'none',
    }, make('button', { type: 'button', 'data-column': name, onclick: () => this.sortBy(name) }, title, by === name ? (down ? ' ↓' : ' ↑') : '')));
    const shownLines = this.all ? lines : lines.slice(0, SHOWN_KERNELS);
    const rest = lines.length - shownLines.length;
    const body = shownLines.map((line) => this.line(line));
    const table = make('table', { class: 'list kernels' }, make('caption', { class: 'visually-hidden' }, 'Kernels'),
      make('thead', null, make('tr', null, head)), make('tbody', null, body));
    const note = this.lines.some((line) => line.source === 'host' && line.time > 0) &&
      make('p', { class: 'muted' }, 'Times marked “host” are the time of the call on the host, not of the kernel on the device.');
    const more = rest > 0 && make('button', { type: 'button', onclick: () => { this.all = true; this.show(); } }, `Show ${count(rest)} more`);
    this.panel.replaceChildren(...[
      lines.length ? make('div', { class: 'wide' }, table) : make('p', { class: 'muted' }, 'No kernel was recorded.'), more, note].filter(Boolean));
  }

  line(line) {
    const bar = make('span', { class: 'bar' });
    bar.style.width = `${((line.share / this.most) * 100).toFixed(1)}%`;
    return make('tr', null,
      make('td', { class: 'path' }, make('button', { type: 'button', class: 'as-link', title: 'Show its calls',
        onclick: () => this.onKernel(line.index) }, line.name)),
      make('td', null, line.kind), make('td', { class: 'number' }, count(line.count)),
      make('td', { class: 'number' }, duration(line.time), line.source === 'host' && line.time > 0 && make('span', { class: 'muted' }, ' host')),
      make('td', { class: 'share' }, make('span', { class: 'share-box' }, bar), make('span', { class: 'share-text' },
        line.share > 0 ? `${(line.share * 100).toFixed(1)}%` : MISSING)),
      make('td', { class: 'number' }, duration(Math.round(line.each))), make('td', { class: 'number' }, bytes(line.bytes)),
      make('td', { class: line.findings ? 'number is-bad' : 'number' }, line.findings ? count(line.findings) : ''));
  }

  sortBy(name) {
    const isSame = this.sort.by === name;
    this.sort = { by: name, down: isSame ? !this.sort.down : name !== 'name' && name !== 'kind' };
    this.show();
    this.panel.querySelector(`[data-column=${name}]`).focus();
  }
}
