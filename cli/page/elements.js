// Makes elements. What comes from the recording only becomes text, never markup.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : text(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === '') continue;
    element.append(child instanceof Node ? child : text(child));
  }
  return element;
}

function make(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function draw(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function byId(id) {
  return document.getElementById(id);
}

function announce(words) {
  byId('status').textContent = words;
}

async function copyText(words) {
  try {
    await navigator.clipboard.writeText(words);
    return true;
  } catch {
    // A page in a frame of a CI server may not use the clipboard directly.
    const area = make('textarea', { class: 'visually-hidden', 'aria-hidden': 'true' });
    area.value = words;
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}

// A command with a button that copies it.
function command(words) {
  const button = make('button', { type: 'button', class: 'copy', 'aria-label': `Copy: ${words}` }, 'Copy');
  button.addEventListener('click', async () => {
    const done = await copyText(text(words));
    button.textContent = done ? 'Copied' : 'Failed';
    announce(done ? 'Copied' : 'The browser blocked copying');
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  });
  return make('div', { class: 'command' }, make('code', { tabindex: 0 }, words), button);
}

function folded(title, open, ...children) {
  return make('details', { open }, make('summary', null, title), children);
}

// head: texts, or [text, class]. rows: lists of cells; a cell is a node, text, or [content, class].
function table(caption, head, rows, className) {
  const cell = (tag, content, more) => {
    const [inner, classes] = Array.isArray(content) ? content : [content, ''];
    return make(tag, { class: classes, ...more }, inner);
  };
  return make('table', { class: className },
    make('caption', { class: 'visually-hidden' }, caption),
    make('thead', null, make('tr', null, head.map((one) => cell('th', one, { scope: 'col' })))),
    make('tbody', null, rows.map((row) => make('tr', null, row.map((one) => cell('td', one))))));
}
