/**
 * GET /api/v1/docs: what it loads, what it may run, commands that work as they are pasted, and, where there is a Chromium,
 * what a person can do with it: read without JavaScript, also on a phone, find, follow a link into what is closed, copy a
 * command, try an operation with the keyboard, and leave no trace of the token.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { hasBrowser, launchChromium } from '../browser/chromium.ts';
import { hasCurl } from './commands.ts';
import {
  type Answer,
  addDomain,
  fileScope,
  type Instance,
  request,
  startInstance,
  until,
} from './harness.ts';

if (!hasBrowser)
  process.stderr.write(
    'SKIPPED: the reference page in a browser (apt-get install chromium-headless-shell)\n',
  );

const SIZE = '[document.documentElement.scrollHeight, document.documentElement.scrollWidth]';
const CUT = `[...document.querySelectorAll('.curl pre')]
  .filter((box) => box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight)
  .map((box) => box.closest('[id]').id)`;

const scope = fileScope();
let server: Instance;
let url: string;
let page: Answer;
let token: string;

beforeAll(async () => {
  server = await startInstance(scope);
  token = await addDomain(server, 'example.com');
  url = `${server.server.localUrl}/api/v1/docs`;
  page = await request('GET', url);
});

describe('the reference page', () => {
  it('runs its own style and script by their hashes, and nothing else', () => {
    const policy = page.headers.get('content-security-policy') ?? '';
    for (const [tag, directive] of [
      ['style', 'style-src'],
      ['script', 'script-src'],
    ] as const) {
      const inside = [...page.text.matchAll(new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`, 'g'))];
      expect(inside).toHaveLength(1);
      const hash = createHash('sha256')
        .update(inside[0]?.[1] ?? '')
        .digest('base64');
      expect(policy).toContain(`${directive} 'sha256-${hash}';`);
    }
    expect(policy).toMatch(
      /^default-src 'none';.*connect-src 'self';.*form-action 'none'; frame-ancestors 'none'$/,
    );
    expect(policy).not.toContain('unsafe');
  });

  it('loads nothing, and has no handlers in its markup', () => {
    const markup = page.text.replace(/<(script|style)>[\s\S]*?<\/\1>/g, '');
    expect(markup).not.toMatch(/<(?:script|img|iframe|link rel="stylesheet")|\son\w+=|\sstyle=|javascript:/i);
    expect(page.text).not.toMatch(/localStorage|sessionStorage|document\.cookie|indexedDB/);
  });

  it('has every operation, with a command that names this server', async () => {
    const document = (await request('GET', url.replace(/docs$/, 'openapi.json'))).json;
    for (const item of Object.values<Record<string, { operationId?: string }>>(document.paths)) {
      for (const { operationId } of Object.values(item)) {
        if (operationId !== undefined)
          expect(page.text).toContain(`<article class="operation" id="${operationId}"`);
      }
    }
    expect(page.text).toContain(`curl -X POST &#39;${server.server.localUrl}/api/v1/email&#39;`);
    expect(page.text).not.toContain('<details open');
    const root = await request('GET', `${server.server.localUrl}/api/v1`);
    expect(root.json).toEqual({ Reference: url, OpenAPI: url.replace(/docs$/, 'openapi.json') });
  });
});

describe.skipIf(!hasCurl('the quick start of the reference page'))('its quick start', () => {
  it('sends a message and shows what became of it, by the commands as they stand there', async () => {
    const [, part = ''] = /<section class="start"([\s\S]*?)<\/section>/.exec(page.text) ?? [];
    const commands = [...part.matchAll(/<pre tabindex="0"><code>([\s\S]*?)<\/code>/g)].map(([, text = '']) =>
      text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&'),
    );
    expect(commands).toHaveLength(3);
    const [take, send, look] = commands;
    const paste = async (...lines: (string | undefined)[]) => {
      const env = { PATH: process.env.PATH, POSTRIDER_DATA: server.folder };
      return JSON.parse((await promisify(execFile)('sh', ['-c', lines.join('\n')], { env })).stdout);
    };
    const { MessageID } = await paste(take, send);
    expect(MessageID).toMatch(/^[0-9a-f-]{36}$/);
    const seen = await until('it was captured', async () => {
      const [found] = (await paste(take, look)).Items;
      return found.RecipientStatuses.Captured === 1 ? found : null;
    });
    expect(seen).toMatchObject({ MessageID, Subject: 'It works', Status: 'Delivered' });
  });
});

describe.skipIf(!hasBrowser)('in a browser', () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await launchChromium();
    scope.defer(() => browser.close());
  });

  it('can be read without JavaScript', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const plain = await context.newPage();
    await plain.goto(url);
    await plain.click('#tag-Email > details > summary');
    await plain.click('#sendEmail > details > summary');
    expect(await plain.isVisible('#sendEmail h3')).toBe(true);
    expect(await plain.isVisible('#sendEmail .curl code')).toBe(true);
    expect(await plain.isVisible('#sendEmail .try')).toBe(false);
  });

  it('finds, sends with the keyboard, and keeps the token to itself', async () => {
    const context = await browser.newContext({ colorScheme: 'dark' });
    const tab = await context.newPage();
    const asked: string[] = [];
    const errors: Error[] = [];
    tab.on('request', (one) => asked.push(one.url()));
    tab.on('pageerror', (error) => errors.push(error));
    await tab.goto(url);
    await tab.keyboard.press('/');
    await tab.keyboard.type('send a message');
    expect(await tab.isVisible('#sendEmail')).toBe(true);
    expect(await tab.isVisible('#listWebhooks')).toBe(false);
    expect(await tab.isVisible('nav a[href="#sendEmail"]')).toBe(true);
    expect(await tab.isVisible('nav a[href="#listWebhooks"]')).toBe(false);
    await tab.keyboard.press('Enter');
    await tab.fill('#token', token);
    await tab.focus('#sendEmail .try summary');
    await tab.keyboard.press('Enter');
    await tab.focus('#sendEmail .try button[type=submit]');
    await tab.keyboard.press('Enter');
    await tab.waitForSelector('#sendEmail output .status.good');
    expect(await tab.textContent('#sendEmail output pre')).toMatch(/"MessageID": "[0-9a-f-]{36}"/);
    const { Items } = (await server.call('GET', '/email')).json;
    expect(Items[0]).toMatchObject({ Subject: 'Your receipt', Tags: ['receipt'] });

    const dark = await tab.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor');
    expect(dark).toBe('rgb(20, 23, 26)');
    expect(await tab.evaluate('localStorage.length + sessionStorage.length + document.cookie.length')).toBe(
      0,
    );
    expect(await context.cookies()).toEqual([]);
    expect(
      asked.filter((one) => !one.startsWith(server.server.localUrl) && !one.startsWith('data:')),
    ).toEqual([]);
    expect([...asked, tab.url()].filter((one) => one.includes(token))).toEqual([]);
    expect(errors).toEqual([]);
  });

  it.each([390, 1280])(
    'is short until something is asked for, and cuts nothing off, %s px wide',
    async (width) => {
      const context = await browser.newContext({ viewport: { width, height: 844 } });
      const tab = await context.newPage();
      await tab.goto(url);
      const size = () => tab.evaluate<[number, number]>(SIZE);
      const [closedHeight, closedWidth] = await size();
      expect(closedHeight).toBeLessThan(844 * 4);
      expect(closedWidth).toBeLessThanOrEqual(width);
      // Every command of the page, with everything open.
      await tab.evaluate("for (const box of document.querySelectorAll('details')) box.open = true");
      expect((await size())[1]).toBeLessThanOrEqual(width);
      expect(await tab.evaluate<number>("document.querySelectorAll('.curl pre').length")).toBeGreaterThan(80);
      expect(await tab.evaluate<string[]>(CUT)).toEqual([]);
    },
  );

  it('leads a phone through its contents into what is closed', async () => {
    const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
    const tab = await context.newPage();
    await tab.goto(url);
    const link = 'nav a[href="#verifyDomain"]';
    expect(await tab.isVisible(link)).toBe(false);
    await tab.click('#menu');
    await tab.click('nav details:nth-of-type(4) summary');
    await tab.click(link);
    expect(await tab.isVisible(link)).toBe(false);
    expect(await tab.isVisible('#verifyDomain .curl')).toBe(true);
    expect(tab.url()).toMatch(/#verifyDomain$/);
    // The same link from outside, and from within a search that hides it.
    await tab.goto(`${url}?again#verifyDomain`);
    expect(await tab.isVisible('#verifyDomain .curl')).toBe(true);
    await tab.fill('#find', 'zzz');
    expect(await tab.isVisible('#nothing')).toBe(true);
    await tab.evaluate("location.hash = 'listTokens'");
    await tab.waitForSelector('#listTokens .curl');
    expect(await tab.isVisible('#nothing')).toBe(false);
  });

  it('copies a command as it stands there', async () => {
    const permissions = ['clipboard-read', 'clipboard-write'];
    const context = await browser.newContext({ permissions });
    const tab = await context.newPage();
    await tab.goto(`${url}#sendEmail`);
    await tab.click('#sendEmail .copy');
    await until('it says so', async () => (await tab.textContent('#sendEmail .copy')) === 'Copied');
    const shown = await tab.textContent('#sendEmail .curl code');
    expect(await tab.evaluate('navigator.clipboard.readText()')).toBe(shown);
  });
});
