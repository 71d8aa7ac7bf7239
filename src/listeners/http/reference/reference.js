// Runs in the browser, on the reference page: finding, leading, copying, trying. The token is read from its field when a request
// is sent and kept nowhere else.
document.documentElement.classList.add('scripted');

const find = document.getElementById('find');
const token = document.getElementById('token');

// Finding: what does not fit is hidden here and in the contents; sections with a match open, and close when nothing is asked.
let asked = '';
find.addEventListener('input', () => {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  const before = asked;
  asked = words.join(' ');
  const hits = [];
  for (const item of document.querySelectorAll('[data-words]')) {
    item.hidden = !words.every((word) => item.dataset.words.includes(word));
    if (!item.hidden && item.closest('main') !== null) hits.push(item);
  }
  for (const part of document.querySelectorAll('main section, nav > *')) {
    const inside = part.matches('[data-words]') ? [part] : [...part.querySelectorAll('[data-words]')];
    part.hidden = asked !== '' && !inside.some((item) => !item.hidden);
    const box = part.matches('details') ? part : part.querySelector('details');
    if (box !== null && asked !== before) box.open = asked !== '' && !part.hidden;
  }
  // Quick start and rules are gone from above the matches, so they begin at the top.
  if (asked !== before) scrollTo({ top: 0, behavior: 'instant' });
  // The only match is what was meant.
  if (asked !== '' && hits.length === 1) reveal(hits[0]);
  document.getElementById('nothing').hidden = hits.length > 0;
});
find.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && asked !== '') {
    const hit = document.querySelector('main [data-words]:not([hidden])');
    if (hit !== null) {
      reveal(hit);
      hit.scrollIntoView();
    }
  }
});

// A link may lead into something closed.
function reveal(part) {
  const inside = part.querySelector('details');
  if (part.matches('.operation, .tag')) inside.open = true;
  if (part.matches('details')) part.open = true;
  for (let at = part.parentElement?.closest('details'); at; at = at.parentElement.closest('details'))
    at.open = true;
}
function follow() {
  const part = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (part === null) return;
  // A link leaves the search: what it leads to may be hidden by it.
  if (part.hidden || part.closest('[hidden]') !== null) {
    find.value = '';
    find.dispatchEvent(new Event('input'));
  }
  reveal(part);
  part.scrollIntoView();
}
addEventListener('hashchange', follow);
follow();

// On a narrow screen the contents lie over the page.
const menu = document.getElementById('menu');
const contents = document.getElementById('contents');
function showContents(shown) {
  menu.setAttribute('aria-expanded', String(shown));
  contents.classList.toggle('shown', shown);
  contents.style.top = shown ? `${document.querySelector('header').getBoundingClientRect().bottom}px` : '';
}
menu.addEventListener('click', () => showContents(!contents.classList.contains('shown')));
contents.addEventListener('click', (event) => {
  const link = event.target.closest('a');
  if (link === null) return;
  showContents(false);
  // The address may name it already, and then nothing changes there.
  if (link.hash === location.hash) follow();
});

document.addEventListener('keydown', (event) => {
  const typing = /^(INPUT|TEXTAREA)$/.test(document.activeElement?.tagName ?? '');
  if (event.key === '/' && !typing) {
    event.preventDefault();
    find.focus();
  }
  if (event.key === 'Escape' && contents.classList.contains('shown')) {
    showContents(false);
    menu.focus();
  }
});

document.addEventListener('click', async (event) => {
  const button = event.target.closest('.copy');
  if (button === null) return;
  const code = button.parentElement.querySelector('code');
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = 'Copied';
  } catch {
    // Without https there is no clipboard of that kind: the text is marked and copied the older way, where that works.
    getSelection().selectAllChildren(code);
    button.textContent = document.execCommand('copy') ? 'Copied' : 'Marked';
  }
});

document.addEventListener('submit', (event) => {
  event.preventDefault();
  void send(event.target);
});

async function send(form) {
  const output = form.querySelector('output');
  const stop = form.querySelector('.stop');
  const given = [...form.querySelectorAll('[data-in]')].filter((input) => input.value !== '');
  let path = form.dataset.path;
  const query = new URLSearchParams();
  for (const input of given) {
    if (input.dataset.in === 'path') path = path.replace(`{${input.name}}`, encodeURIComponent(input.value));
    else query.append(input.name, input.value);
  }
  const body = form.elements.namedItem('body');
  const headers = {};
  if (form.dataset.open !== 'true') headers.authorization = `Bearer ${token.value.trim()}`;
  if (body !== null) headers['content-type'] = 'application/json';
  const cancel = new AbortController();
  stop.hidden = false;
  stop.onclick = () => cancel.abort();
  const started = performance.now();
  const status = document.createElement('span');
  status.className = 'status';
  status.textContent = 'Sending …';
  const text = document.createElement('code');
  const frame = document.createElement('pre');
  frame.tabIndex = 0;
  frame.append(text);
  output.replaceChildren(status, frame);
  output.hidden = false;
  try {
    const url = form.dataset.base + path + (query.size > 0 ? `?${query}` : '');
    const answer = await fetch(url, {
      method: form.dataset.method,
      headers,
      signal: cancel.signal,
      credentials: 'omit',
      cache: 'no-store',
      ...(body === null || body.value.trim() === '' ? {} : { body: body.value }),
    });
    const took = () => `${Math.round(performance.now() - started)} ms`;
    status.textContent = `${answer.status} ${answer.statusText}`;
    status.classList.add(answer.ok ? 'good' : 'bad');
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let whole = '';
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      whole += part.value;
      text.textContent = whole;
    }
    status.textContent += ` · ${took()}`;
    if (/json/.test(answer.headers.get('content-type') ?? '')) {
      text.textContent = JSON.stringify(JSON.parse(whole), null, 2);
    }
  } catch (error) {
    if (cancel.signal.aborted) status.textContent += ' · stopped';
    else {
      status.classList.add('bad');
      status.textContent = `No answer: ${error.message}`;
    }
  }
  stop.hidden = true;
}
