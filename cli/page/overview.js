// Above the calls: the verdict, the findings, the comparison. Also the tabs with kernels and processes.

const SHOWN_FINDINGS = 3;
const STATES = { failure: 'Failed', findings: 'Findings', clean: 'No findings', nothing: 'Nothing recorded' };

function rowLink(row, ...words) {
  return make('a', { href: `#row=${row}`, 'data-row': row }, words);
}

// isShort: in the pane, which says the rest. isFolded: details only on request.
function findingCard(recording, finding, { isShort, isFolded }) {
  const kernel = recording.kernels[finding.kernel];
  const tensor = finding.tensor || {};
  const facts = [
    !isShort && kernel && text(kernel.name),
    finding.line > 0 && `line ${finding.line}`,
    recording.processes.length > 1 && finding.process >= 0 && recording.processName(finding.process),
    finding.run >= 0 && `run ${finding.run}`,
    finding.call >= 0 && `call ${finding.call}`,
    finding.count > 1 && `${count(finding.count)} times`,
  ].filter(Boolean);
  const pairs = [
    tensor.label && ['Tensor', [make('code', null, tensor.label), tensor.what ? ` ${text(tensor.what)}` : '']],
    finding.writer && ['Writer', make('code', null, finding.writer)],
    finding.expected && ['Expected', text(finding.expected)],
    finding.found && ['Got', text(finding.found)],
    finding.advice && ['Advice', text(finding.advice)],
    ...list(finding.notes).map((note) => ['Note', text(note)]),
    finding.suppression && !isShort && ['Suppress', make('code', null, finding.suppression)],
  ].filter(Boolean);
  // The line below the sentence has the place.
  const sentence = text(finding.sentence).replace(/ \((model \d+( \([^()]*\))?, )?run \d+(, call \d+)?[^()]*\)$/, '');
  const isLinked = !isShort && finding.row >= 0 && finding.row < recording.length;
  const more = [
    pairs.length > 0 && make('dl', { class: 'pairs' }, pairs.map(([name, value]) => [make('dt', null, name), make('dd', null, value)])),
    finding.repeat && command(finding.repeat),
  ].filter(Boolean);
  return make('article', { class: 'finding' },
    make('p', { class: 'finding-head' },
      finding.code && make('span', { class: 'code-badge' }, finding.code), ' ',
      isLinked ? rowLink(finding.row, sentence) : make('span', null, sentence)),
    facts.length > 0 && make('p', { class: 'muted' }, facts.join(' · ')),
    isFolded && more.length > 0 ? folded('Details', false, more) : more);
}

function showTitle(recording) {
  const { data } = recording;
  const recorded = data.recorded || {};
  const title = text(data.title) || (data.confidential ? 'Confidential report' : 'Report');
  byId('title').textContent = title;
  document.title = `${title} – aoti-dbg`;
  const facts = [
    ['Recorded', recorded.start_ns ? moment(recorded.start_ns) : ''],
    ['Runs', recorded.runs], ['Calls', recorded.calls], ['Findings', recorded.findings],
    ['Processes', recorded.processes > 1 ? recorded.processes : null], ['Folder', recorded.folder], ['aoti-dbg', data.library],
  ].filter(([, value]) => value !== null && value !== undefined && value !== '');
  byId('facts').replaceChildren(...facts.map(([name, value]) => make('div', { class: name === 'Folder' ? 'fact folder' : 'fact' },
    make('dt', null, name),
    make('dd', { class: name === 'Findings' && value > 0 ? 'is-bad' : '' }, typeof value === 'number' ? count(value) : value))));
}

function showNotices(recording, problem) {
  const { data } = recording;
  const notices = [];
  const notice = (title, lines, isBad) => {
    if (lines.length === 0) return;
    notices.push(make('div', { class: isBad ? 'notice bad' : 'notice' }, make('strong', null, title), ' ',
      lines.length === 1 ? text(lines[0]) : make('ul', null, lines.map((one) => make('li', null, one)))));
  };
  notice('Error.', problem ? [problem] : [], true);
  notice('Confidential.', data.confidential ? ['This page keeps codes, names, dtypes, shapes, hashes, times and counts, such as those of NaN and Inf. ' +
    'It leaves out all other values and statistics, arguments of ops, paths, command lines, hosts, variables, source text and reports.'] : []);
  notice('Not on this page:', list((data.recorded || {}).left_out));
  notice('Incomplete:', recording.processes.flatMap((process, index) => list(process.notes).map((note) =>
    (recording.processes.length > 1 ? `${recording.processName(index)}: ${text(note)}` : note))));
  byId('notices').hidden = notices.length === 0;
  byId('notices').replaceChildren(...notices);
}

function showVerdict(recording) {
  const verdict = recording.data.verdict || {};
  const element = byId('verdict');
  const isBad = verdict.state === 'failure' || verdict.state === 'findings';
  element.classList.toggle('bad', isBad);
  const commands = list(verdict.repeat);
  const next = list(verdict.try);
  element.replaceChildren(...[
    make('h2', null, make('span', { class: 'state' }, STATES[verdict.state] || 'No verdict'), ' ',
      verdict.code && make('span', { class: 'code-badge' }, verdict.code)),
    make('p', { class: 'sentence' }, verdict.sentence || 'The recording has no verdict.'),
    next.length > 0 && make('dl', { class: 'pairs' }, next.map((words) => [make('dt', null, 'Try'), make('dd', null, words)])),
    commands.length > 0 && make('div', { class: 'commands' }, commands.map(command)),
    verdict.report && folded('Full report', false, make('pre', { tabindex: 0 }, verdict.report)),
  ].filter(Boolean));
}

function showDiff(recording) {
  const { diff } = recording.data;
  const element = byId('diff');
  element.hidden = !diff;
  if (!diff) return;
  const rows = [...recording.differences].filter(([row]) => row >= 0 && row < recording.length);
  const shownRows = rows.slice(0, 8);
  element.replaceChildren(...[
    make('h2', null, make('span', { class: 'state' }, 'Compared'), diff.other && make('span', { class: 'muted' }, ' with ', make('code', null, diff.other))),
    make('p', { class: 'sentence' }, diff.sentence),
    rows.length > 0 && make('ul', { class: 'plain' }, shownRows.map(([row, words]) => make('li', null,
      rowLink(row, recording.kernelName(row), ` (call ${recording.columns.call[row]})`), ` ${text(words)}`)),
    rows.length > shownRows.length && make('li', { class: 'muted' }, `and ${count(rows.length - shownRows.length)} more: filter by “Differs”`)),
    diff.text && folded('Full comparison', false, make('pre', { tabindex: 0 }, diff.text)),
  ].filter(Boolean));
}

function showFindings(recording) {
  const { findings } = recording;
  const element = byId('findings');
  element.hidden = findings.length === 0;
  if (findings.length === 0) return;
  const cards = make('div', { class: 'finding-list' }, 
    findings.slice(0, SHOWN_FINDINGS).map((one, index) => findingCard(recording, one, { isFolded: index > 0 })));
  const rest = findings.length - SHOWN_FINDINGS;
  const more = rest > 0 && make('button', { type: 'button', onclick: () => {
    cards.append(...findings.slice(SHOWN_FINDINGS).map((one) => findingCard(recording, one, { isFolded: true })));
    more.remove();
    cards.children[SHOWN_FINDINGS].querySelector('a, button')?.focus();
  } }, `Show ${count(rest)} more`);
  element.replaceChildren(...[make('h2', { class: 'visually-hidden' }, counted(findings.length, 'finding')), cards, more].filter(Boolean));
}

function showProcesses(recording, onProcess) {
  const panel = byId('panel-processes');
  const rows = recording.processes.map((process, index) => [
    [make('button', { type: 'button', class: 'as-link', onclick: () => onProcess(index), title: 'Show its calls' }, recording.processName(index)), ''],
    [text(process.pid), 'number'], text(process.host), [count(process.runs), 'number'], [count(process.calls), 'number'],
    [make('code', null, process.command), 'path'], [make('code', null, process.folder), 'path'],
    Object.entries(process.coverage || {}).map(([name, value]) => `${text(name).replace(/_/g, ' ')} ${text(value)}`).join(', '),
  ]);
  const models = recording.models.map((model) => [text(model.name), [text(model.number), 'number'], text(model.torch),
    recording.processes.length > 1 ? recording.processName(model.process) : '', [make('code', null, model.path || model.package), 'path']]);
  panel.replaceChildren(
    rows.length ? make('div', { class: 'wide' }, table('Processes', ['Process', ['PID', 'number'], 'Host', ['Runs', 'number'],
      ['Calls', 'number'], 'Command', 'Folder', 'Coverage'], rows, 'list')) : make('p', { class: 'muted' }, 'No process was recorded.'),
    models.length ? make('div', { class: 'wide' }, make('h3', null, 'Models'),
      table('Models', ['Model', ['Number', 'number'], 'Torch', 'Process', 'File'], models, 'list')) : '');
}
