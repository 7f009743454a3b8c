// Text of numbers, times and sizes. Nothing here touches the document.

const MISSING = '–';
// Control characters and marks that turn the direction of text could hide what a name really is.
// eslint-disable-next-line no-control-regex
const INVISIBLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

function text(value) {
  return value === null || value === undefined ? '' : String(value).replace(INVISIBLE, '\ufffd');
}

function list(value) {
  return Array.isArray(value) ? value : [];
}

// A list of objects, whatever it is.
function objects(value) {
  return list(value).map((one) => (one !== null && typeof one === 'object' ? one : {}));
}

// The page's data has NaN and infinities as strings.
function toNumber(value) {
  if (typeof value === 'number') return value;
  if (value === 'Infinity') return Infinity;
  if (value === '-Infinity') return -Infinity;
  return NaN;
}

// digits: how many count, of a number that is not whole.
function number(value, digits = 5) {
  if (value === null || value === undefined || value === '') return MISSING;
  if (typeof value !== 'number') return value === 'Infinity' ? 'Inf' : value === '-Infinity' ? '-Inf' : text(value);
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) return String(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(Math.max(2, digits - 2)).replace(/\.?0+e/, 'e').replace('e+', 'e');
  return String(Number(value.toPrecision(digits)));
}

function count(value) {
  return Number(value || 0).toLocaleString('en-US');
}

function counted(value, noun) {
  return `${count(value)} ${noun}${Number(value) === 1 ? '' : noun.endsWith('s') ? 'es' : 's'}`;
}

function scaled(value, units, step) {
  let unit = 0;
  let left = value;
  while (left >= step && unit + 1 < units.length) {
    left /= step;
    ++unit;
  }
  return `${unit === 0 ? left : Number(left.toPrecision(3))} ${units[unit]}`;
}

function duration(ns) {
  return ns > 0 ? scaled(ns, ['ns', 'µs', 'ms', 's'], 1000) : MISSING;
}

function bytes(value) {
  return value > 0 ? scaled(value, ['B', 'KiB', 'MiB', 'GiB', 'TiB'], 1024) : MISSING;
}

function moment(ns) {
  let date;
  try {
    date = new Date(Number(BigInt(ns) / 1000000n));
  } catch {
    return '';
  }
  if (Number.isNaN(date.getTime())) return '';
  const two = (value) => String(value).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` +
    `${two(date.getHours())}:${two(date.getMinutes())}`;
}

// A file of the recording, as an address relative to the page. Empty for a path that leaves the folder.
function fileAddress(path) {
  const parts = text(path).split('/');
  if (parts.some((part) => part === '' || part === '..' || part === '.')) return '';
  return `./${parts.map(encodeURIComponent).join('/')}`;
}
