// Runs in the browser, on the reference page: finding, copying, trying. The token is read from its field when a request
// is sent and kept nowhere else.
document.documentElement.classList.add('scripted');

const find = document.getElementById('find');
const token = document.getElementById('token');

find.addEventListener('input', () => {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const item of document.querySelectorAll('[data-words]')) {
    item.hidden = !words.every((word) => item.dataset.words.includes(word));
    if (!item.hidden) shown += 1;
  }
  for (const section of document.querySelectorAll('section.tag')) {
    section.hidden = section.querySelector('[data-words]:not([hidden])') === null;
  }
  document.getElementById('nothing').hidden = shown > 0;
});

document.addEventListener('keydown', (event) => {
  const typing = /^(INPUT|TEXTAREA)$/.test(document.activeElement?.tagName ?? '');
  if (event.key === '/' && !typing) {
    event.preventDefault();
    find.focus();
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
    // Without https there is no clipboard: the text is marked instead.
    getSelection().selectAllChildren(code);
    button.textContent = 'Marked';
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
