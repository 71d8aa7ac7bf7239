/**
 * The dashboard's limits, measured in Chromium before a server in a process of its own (`sandbox-server.ts`):
 *
 *   inbox     an inbox of 10,000 mails, all of them listed, while 50 more come in a second
 *   messages  a list of a million messages that is scrolled through, and searches of it
 *   tabs      what twenty open pages cost the server, by place
 *   start     how soon the inbox can be used after its address was opened, with nothing cached
 *
 * Tasks of the page are measured in processor time of its main thread (a trace of Chromium), so that other work of the
 * machine does not count, and as wall time (`longtask`), which it does. `--slower 4` makes the page's processor four times
 * slower. Prints lines of Markdown.
 *
 *   node bench/dashboard.ts inbox|messages|tabs|start [--data FOLDER] [--slower 4] [--seconds 30]
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { launchChromium } from '../test/browser/chromium.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    data: { type: 'string' },
    slower: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '30' },
  },
});
const MAILS = 10_000;
const MESSAGES = 1_000_000;
const INBOXES = 100;
const PAGES = 20;
const ARRIVALS_PER_SECOND = 50;
const LONG_MS = 50;
const TICKS_PER_SECOND = 100;
const WINDOW = { width: 1280, height: 800 };
const slower = Number(values.slower);
const seconds = Number(values.seconds);
const folder = values.data ?? mkdtempSync(join(tmpdir(), 'postrider-bench-'));

const PARTS = { inbox, messages, tabs, start };
const part = PARTS[positionals[0] as keyof typeof PARTS];
if (part === undefined) {
  console.error(`name one of ${Object.keys(PARTS).join(', ')}`);
  process.exit(2);
}
const isMillion = positionals[0] === 'messages';
const server = await startServer(isMillion ? INBOXES : 1, isMillion ? MESSAGES / INBOXES : MAILS);
const browser = await launchChromium();
try {
  await part(browser);
} finally {
  await browser.close();
  await server.stop();
  if (values.data === undefined) rmSync(folder, { recursive: true, force: true });
}

async function inbox(browser: Browser): Promise<void> {
  const page = await openPage(browser, '/inbox');
  await page.locator('ul[aria-label="Captured mail"] a').first().waitFor();
  await scrollToEnd(page, 'Captured mail', MAILS);
  await page.evaluate(`document.querySelector('ul[aria-label="Captured mail"]').parentElement.scrollTop = 0`);
  const tasks = await tasksDuring(page, () => arrivals());
  console.log(`| ${MAILS} mails, ${ARRIVALS_PER_SECOND} a second, processor ÷ ${slower} | ${tasks} |`);
  const far = await tasksDuring(page, async () => {
    await page.evaluate(
      `document.querySelector('ul[aria-label="Captured mail"]').parentElement.scrollTop = 300000`,
    );
    await arrivals();
  });
  console.log(`| … scrolled far down | ${far} |`);
}

/** Mail at a steady rate, whatever the answers take. */
async function arrivals(): Promise<void> {
  const began = performance.now();
  const sent: Promise<unknown>[] = [];
  for (let n = 0; n < seconds * ARRIVALS_PER_SECOND; n += 1) {
    await pause(Math.max(0, began + (n * 1_000) / ARRIVALS_PER_SECOND - performance.now()));
    sent.push(
      call('POST', '/email', {
        From: { email: 'bench@example.com' },
        To: [{ email: 'user+inbox-0@example.net' }],
        Subject: `Arrives ${n}`,
        ContentType: 'Text',
        PlainContent: 'Hello',
      }),
    );
  }
  await Promise.all(sent);
}

async function messages(browser: Browser): Promise<void> {
  const page = await openPage(browser, '/messages');
  await page.locator('ul[aria-label="Messages"] a').first().waitFor();
  const frames = await page.evaluate<number[]>(`new Promise((resolve) => {
    const list = document.querySelector('ul[aria-label="Messages"]').parentElement;
    const frames = [];
    const until = performance.now() + ${seconds * 1_000};
    let last = performance.now();
    const next = (now) => {
      frames.push(now - last);
      last = now;
      list.scrollTop += 120;
      if (now < until) requestAnimationFrame(next); else resolve(frames);
    };
    requestAnimationFrame(next);
  })`);
  const tasks = await tasksDuring(page, async () => {
    await page.mouse.move(500, 400);
    for (let n = 0; n < seconds * 10; n += 1) {
      await page.mouse.wheel(0, 900);
      await pause(100);
    }
  });
  const rows = await page.evaluate<number>(
    `document.querySelector('ul[aria-label="Messages"]').clientHeight / 40 | 0`,
  );
  console.log(`| scrolled, processor ÷ ${slower}, to about row ${rows} | ${tasks} |`);
  console.log(`frames: ${percentiles(frames)} ms (p50, p99, longest)`);
  for (const query of [
    '',
    'To=user%2Binbox-7@example.net',
    'To=nobody@example.org',
    'Subject=is+on+its+way',
    'Subject=Order+4711+of',
    'Subject=nothing+like+this',
    'Tag=order',
    'Tag=newsletter',
    'Tag=none',
    'Status=Delivered',
    'Status=Bounced',
    'Domain=example.com',
    'Metadata.order=4711',
    'Metadata.order=none',
    'Subject=nothing&Tag=newsletter&Status=Delivered',
  ]) {
    const ms: number[] = [];
    let last: { Items?: unknown[]; NextCursor?: string | null } = {};
    for (let n = 0; n < 5; n += 1) {
      const began = performance.now();
      last = (await call('GET', `/email?Limit=100&${query}`)) as typeof last;
      ms.push(performance.now() - began);
    }
    const more = last.NextCursor == null ? 'all' : 'more may follow';
    console.log(`| ${query} | ${last.Items?.length} found, ${more} | ${percentiles(ms)} ms |`);
  }
}

async function tabs(browser: Browser): Promise<void> {
  for (const place of ['inbox', 'messages', 'overview', 'queue']) {
    const pages = [];
    for (let n = 0; n < PAGES; n += 1) pages.push(await openPage(browser, `/${place}`));
    await pause(5_000);
    const before = cpuMs();
    await pause(seconds * 1_000);
    const share = (cpuMs() - before) / (seconds * 1_000);
    console.log(`| ${PAGES} pages of ${place} | ${(100 * share).toFixed(1)} % of a core |`);
    for (const page of pages) await page.context().close();
  }
}

async function start(browser: Browser): Promise<void> {
  const shown: number[] = [];
  const worked: number[] = [];
  const longest: number[] = [];
  for (let n = 0; n < 7; n += 1) {
    const page = await openPage(browser, 'about:blank');
    const tasks = await traced(page, async () => {
      await page.goto(`${server.url}/inbox`, { waitUntil: 'commit' });
      await page.locator('ul[aria-label="Captured mail"] a').first().waitFor();
      shown.push(await page.evaluate<number>(`performance.now()`));
    });
    worked.push(tasks.reduce((sum, ms) => sum + ms, 0));
    longest.push(Math.max(0, ...tasks));
    await page.context().close();
  }
  console.log(`| processor ÷ ${slower}: rows shown after | ${percentiles(shown)} ms |`);
  console.log(`| work of the main thread until then | ${percentiles(worked)} ms |`);
  console.log(`| its longest task | ${percentiles(longest)} ms |`);
}

async function openPage(browser: Browser, path: string): Promise<Page> {
  const context = await browser.newContext({ viewport: WINDOW });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  const session = await context.newCDPSession(page);
  if (slower > 1) await session.send('Emulation.setCPUThrottlingRate', { rate: slower });
  await page.goto(path.startsWith('/') ? server.url + path : path);
  return page;
}

/** Until so many rows are known. */
async function scrollToEnd(page: Page, list: string, count: number): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    const rows = document.querySelector('ul[aria-label="${list}"]');
    const next = () => {
      rows.parentElement.scrollTo(0, rows.parentElement.scrollHeight);
      if (rows.clientHeight >= ${count} * 64) resolve(); else setTimeout(next, 20);
    };
    next();
  })`);
}

/** What the tasks of the page's main thread took: processor time by the trace, and wall time of the long ones. */
async function tasksDuring(page: Page, run: () => Promise<void>): Promise<string> {
  await page.evaluate(`window.longTasks = [];
    new PerformanceObserver((list) => longTasks.push(...list.getEntries().map((one) => one.duration))).observe({ type: 'longtask' })`);
  const tasks = await traced(page, run);
  const wall = await page.evaluate<number[]>('window.longTasks');
  const long = tasks.filter((ms) => ms > LONG_MS).length;
  return `${tasks.length} tasks, ${percentiles(tasks)} ms of processor (p50, p99, longest), ${long} over ${LONG_MS} ms | ${wall.length} over ${LONG_MS} ms by the clock, the longest ${Math.max(0, ...wall).toFixed(0)} ms`;
}

/** Processor time of each task of the page's main thread, ms; with a slower processor as much longer. */
async function traced(page: Page, run: () => Promise<void>): Promise<number[]> {
  await browser.startTracing(page, { categories: ['toplevel', 'disabled-by-default-devtools.timeline'] });
  await run();
  const trace = JSON.parse((await browser.stopTracing()).toString()) as {
    traceEvents: {
      name: string;
      ph: string;
      pid: number;
      tid: number;
      tdur?: number;
      dur?: number;
      args: { name?: string };
    }[];
  };
  const mains = new Set(
    trace.traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  return trace.traceEvents
    .filter(({ name, ph, pid, tid }) => name === 'RunTask' && ph === 'X' && mains.has(`${pid} ${tid}`))
    .map(({ tdur = 0 }) => tdur / 1_000);
}

/** p50, p99 and the longest. */
function percentiles(given: readonly number[]): string {
  const sorted = [...given].sort((a, b) => a - b);
  return [0.5, 0.99, 1]
    .map((p) => (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? Number.NaN).toFixed(1))
    .join(' / ');
}

async function call(method: string, path: string, body?: object): Promise<unknown> {
  const ask = () =>
    fetch(`${server.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  // The server may just close a connection that was not used for a while.
  return (await ask().catch(ask)).json();
}

/** Of all threads of the server. */
function cpuMs(): number {
  const stat = readFileSync(`/proc/${server.pid}/stat`, 'utf8');
  const [user = 0, system = 0] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return ((user + system) * 1_000) / TICKS_PER_SECOND;
}

async function startServer(inboxes: number, each: number) {
  const file = join(import.meta.dirname, 'sandbox-server.ts');
  const args = ['--disable-warning=ExperimentalWarning', file, folder, String(inboxes), String(each)];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  for await (const line of createInterface({ input: child.stdout })) {
    const { url, token } = JSON.parse(line) as { url: string; token: string };
    return {
      url,
      token,
      pid: child.pid,
      async stop() {
        child.stdin.end();
        await ended;
      },
    };
  }
  throw new Error('the server did not start');
}
