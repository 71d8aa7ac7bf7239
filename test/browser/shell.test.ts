/** The dashboard as a browser meets it: small, within its policy, without a token in development, closed elsewhere. */
import type { Browser, Route } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { fileScope, type Instance, request, startInstance } from '../scenarios/harness.ts';
import { hasBrowser, openBrowser, openPage, PHONE, setHidden } from './browser.ts';

describe.skipIf(!hasBrowser)('the dashboard', () => {
  const scope = fileScope();
  let server: Instance;
  let browser: Browser;
  let url: string;

  beforeAll(async () => {
    server = await startInstance(scope, { mode: 'dev' });
    browser = await openBrowser(scope);
    url = server.server.localUrl;
  });

  it('loads at most 180 kB at first, nothing of it inline', async () => {
    const { page } = await openPage(browser);
    await page.goto(url);
    await page.getByText('Send the first mail').waitFor();
    const bytes = await page.evaluate<number>(
      `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
        .filter((one) => !one.name.includes('/api/')).reduce((sum, one) => sum + one.encodedBodySize, 0)`,
    );
    expect(bytes).toBeGreaterThan(50_000);
    expect(bytes).toBeLessThan(180_000);
    const html = (await request('GET', url, { headers: { accept: 'text/html' } })).text;
    expect(html).not.toMatch(/<style|<script(?![^>]*\ssrc=)|\sstyle=|\son[a-z]+=/);
  });

  it('shows what was sent, without a token, and breaks no policy', async () => {
    await server.send({ Subject: 'Shown in a browser' });
    const { page, errors, requests } = await openPage(browser);
    await page.goto(url);
    await page.getByText('Shown in a browser').first().waitFor();
    expect(page.url()).toBe(`${url}/inbox`);
    expect(errors).toEqual([]);
    expect(requests.filter((one) => !one.startsWith(url))).toEqual([]);
  });

  it('says that it is loading while its code is on the way', async () => {
    const { page } = await openPage(browser);
    await page.route('**/*.js', () => undefined);
    await page.goto(url, { waitUntil: 'commit' });
    await page.getByText('The dashboard is loading').waitFor();
  });

  it('gives the focus to the title of a page, so that a key scrolls it and it is read out', async () => {
    const { page } = await openPage(browser, { viewport: { width: 1280, height: 300 } });
    await page.goto(`${url}/overview`);
    await page.getByText('This server captures all mail: nothing was sent').waitFor();
    await page.getByRole('columnheader', { name: 'Captured' }).waitFor();
    await page.keyboard.press('PageDown');
    await expect
      .poll(() => page.evaluate<number>(`document.querySelector('main > div').scrollTop`))
      .toBeGreaterThan(0);
    await page.getByRole('link', { name: /waiting$/ }).focus();
    await page.keyboard.press('Enter');
    await page.locator('h1:focus', { hasText: 'Queue' }).waitFor();
  });

  it('says that the server does not answer while it asks who is there, and goes on when it does', async () => {
    const { page } = await openPage(browser);
    await page.clock.install();
    await page.route('**/api/**', (route) => route.abort());
    await page.goto(url);
    const alert = page.getByRole('alert');
    for (let tries = 0; tries < 4; tries += 1) {
      await alert.getByText('The server does not answer').waitFor();
      await page.clock.runFor(10_000);
    }
    await page.unrouteAll();
    await page.clock.runFor(10_000);
    await page.getByRole('link', { name: 'Domains' }).waitFor();
    expect(await alert.count()).toBe(0);
  });

  it('reads from a server of this machine where there is no network', async () => {
    const { page } = await openPage(browser);
    await page.goto(`${url}/overview`);
    await page.getByRole('heading', { name: 'Sent mail' }).waitFor();
    await page.evaluate("dispatchEvent(new Event('offline'))");
    await page.getByRole('link', { name: 'Suppressions' }).click();
    await page.getByText('No suppressions yet').waitFor();
  });

  it('says that what is shown may be old, whoever says it, and that a list cannot be read yet', async () => {
    const { page } = await openPage(browser);
    await page.clock.install();
    const answer = (status: number, contentType: string) =>
      page.route('**/api/v1/{domains,templates,tokens}?*', (route) =>
        route.fulfill({ status, contentType, body: '{"detail":"Too much to do"}' }),
      );
    await server.call('POST', '/domains', { body: { Domain: 'example.com' } });
    await page.goto(`${url}/domains`);
    await page.getByRole('link', { name: 'example.com' }).waitFor();
    const alert = page.getByRole('alert');
    for (const [status, type, said] of [
      [502, 'text/html', 'The server does not answer'],
      [503, 'application/problem+json', 'What is shown may be old'],
    ] as const) {
      await answer(status, type);
      await expect
        .poll(async () => {
          await page.clock.runFor(10_000);
          return await alert.getByText(said).count();
        })
        .toBe(1);
      await page.getByRole('link', { name: 'example.com' }).waitFor();
    }
    // Read once, it is asked for again all the same.
    await page.getByRole('link', { name: 'Templates' }).click();
    const failed = page.getByRole('heading', { name: 'This cannot be read now' });
    await expect.poll(() => page.clock.runFor(2_000).then(() => failed.count())).toBe(1);
    // Where the place is no list, its list says it, once.
    await page.unrouteAll();
    await page.getByRole('link', { name: 'Access' }).click();
    await page.getByText('token create --domain example.com').waitFor();
    await answer(502, 'text/html');
    await setHidden(page, true);
    await setHidden(page, false);
    await expect
      .poll(() => page.clock.runFor(2_000).then(() => alert.allInnerTexts()))
      .toEqual([expect.stringContaining('not answer')]);
    await page.getByRole('link', { name: 'Templates' }).click();
    await page.unrouteAll();
    const none = page.getByRole('heading', { name: 'No templates yet' });
    await expect.poll(() => page.clock.runFor(10_000).then(() => none.count())).toBe(1);
    expect(await alert.count()).toBe(0);
  });

  it('says that it waits for a slow server', async () => {
    const { page } = await openPage(browser);
    let go = (): void => {};
    const isSlow = new Promise<void>((resolve) => {
      go = resolve;
    });
    await page.route('**/api/**', (route) => isSlow.then(() => route.continue()));
    await page.goto(url);
    await page.getByText('Waiting for the server…').waitFor();
    go();
    await page.getByRole('link', { name: 'Messages' }).waitFor();
  });

  it('says where it cannot read what one may do, and goes on when asked again', async () => {
    const { page } = await openPage(browser);
    for (const path of ['/system', '/access']) {
      await page.route('**/api/v1/me', (route) => route.fulfill({ status: 500, body: 'out of order' }));
      await page.goto(`${url}${path}`);
      await page.getByRole('heading', { name: 'This cannot be read now' }).waitFor();
      await page.getByText('The answer was 500').waitFor();
      await page.unrouteAll();
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByRole('link', { name: 'Domains' }).waitFor();
      expect(await page.getByRole('heading', { name: 'This cannot be read now' }).count()).toBe(0);
    }
  });

  it('moves nothing in the bar of a phone when it is known what one may do', async () => {
    const { page } = await openPage(browser, { viewport: PHONE, hasTouch: true });
    let answer = () => {};
    const asked = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/api/v1/me', (route) => asked.then(() => route.continue()));
    await page.goto(`${url}/messages`);
    const bar = page.getByRole('navigation', { name: 'Places' });
    const places = async () => [
      await bar.getByRole('link', { name: 'Overview' }).boundingBox(),
      await bar.getByRole('button', { name: 'More' }).boundingBox(),
    ];
    await bar.getByRole('button', { name: 'More' }).waitFor();
    const before = await places();
    answer();
    await bar.getByRole('link', { name: 'Queue' }).waitFor();
    expect(await places()).toEqual(before);
  });

  it('says what to do where code is gone after an upgrade, and loses nothing where the server is away', async () => {
    const { page } = await openPage(browser);
    await page.clock.install();
    await page.goto(`${url}/inbox`);
    await page.getByText('Shown in a browser').first().waitFor();
    await page.route(/\/assets\/|\/$/, (route) => route.abort());
    await page.getByRole('link', { name: 'Queue' }).click();
    await page.getByText('The server does not answer').waitFor();
    await page.goBack();
    await page.getByText('Shown in a browser').first().waitFor();
    await page.goForward();
    await page.getByText('The server does not answer').waitFor();
    await page.unrouteAll();
    // As a server says it while it stops.
    let refused = 0;
    await page.route(/\/assets\/|\/(?:queue)?$/, (route) => {
      refused += 1;
      return route.fulfill({ status: 503, contentType: 'application/problem+json', body: '{}' });
    });
    await page.clock.runFor(10_000);
    await expect.poll(() => refused).toBe(1);
    await page.getByText('The server does not answer').waitFor();
    await page.unrouteAll();
    await page.clock.runFor(10_000);
    await page.getByRole('heading', { name: 'Queue' }).waitFor();
    await page.goBack();
    await page.route('**/assets/**', (route) => route.fulfill({ status: 404 }));
    await page.getByText('Shown in a browser').first().click();
    await page.getByRole('tab', { name: 'Checks' }).click();
    await page.getByText('the server was upgraded since it was opened').waitFor();
    // The rest of the page stays.
    await page.getByRole('tab', { name: 'Checks' }).waitFor();
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Load it again' }).click();
    await page.getByRole('heading', { name: 'Shown in a browser' }).waitFor();
  });

  it('says at an address that nothing is at that there is no such page, with a way back', async () => {
    const { page } = await openPage(browser);
    for (const path of ['/mesages', '/settings/domains', '/domains/example.com/dns', '/queue/%FF', '/%']) {
      await page.goto(`${url}${path}`);
      await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
      await page.getByRole('link', { name: 'Go to the first page' }).click();
      await expect.poll(() => page.url()).toBe(`${url}/inbox`);
    }
    const status = async (method: string, path: string, accept: string) => {
      const answer = await request(method, `${url}${path}`, { headers: { accept } });
      return [answer.status, answer.headers.get('content-type')];
    };
    const PROBLEM = 'application/problem+json';
    expect(await status('GET', '/mesages', 'text/html')).toEqual([404, 'text/html; charset=utf-8']);
    expect(await status('GET', '/mesages', '*/*')).toEqual([404, PROBLEM]);
    expect(await status('POST', '/mesages', 'text/html')).toEqual([404, PROBLEM]);
    for (const path of ['/api', '/api/v1/mesages', '/api/v2/email'])
      expect(await status('GET', path, 'text/html')).toEqual([404, PROBLEM]);
  });

  it('has the title of what it shows', async () => {
    const made = (await server.call('POST', '/domains', { body: { Domain: 'titled.example' } })).json;
    const { page } = await openPage(browser);
    // Later than the page itself, as it can be.
    const late = async (route: Route) => {
      await page.getByRole('heading', { name: made.Domain }).waitFor();
      await route.continue();
    };
    await page.route('**/api/v1/me', late, { times: 1 });
    await page.goto(`${url}/domains/${made.Domain}`);
    await page.getByRole('button', { name: 'Check now' }).waitFor();
    const title = () => expect.poll(() => page.title());
    await title().toBe('titled.example · postrider');
    await page.getByRole('link', { name: 'Back to the domains' }).click();
    await title().toBe('Domains · postrider');
    await page.getByRole('link', { name: 'Inbox' }).click();
    await title().toBe('Inbox · postrider');
    await page.getByText('Shown in a browser').first().click();
    await title().toBe('Shown in a browser · postrider');
    await page.getByRole('link', { name: 'Messages' }).click();
    await title().toBe('Messages · postrider');
    await page.getByText('Shown in a browser').first().click();
    await title().toBe('Shown in a browser · postrider');
    await page.goBack();
    await title().toBe('Messages · postrider');
    await page.goto(`${url}/nowhere`);
    await title().toBe('There is no such page · postrider');
  });

  it('asks who it is everywhere else', async () => {
    const other = await startInstance(scope);
    const { page } = await openPage(browser);
    await page.goto(other.server.localUrl);
    await page.getByRole('heading', { name: 'Sign in to postrider' }).waitFor();
  });

  it('gives another origin nothing, whatever it asks', async () => {
    const { page } = await openPage(browser);
    const other = await startInstance(scope);
    await page.goto(`${other.server.localUrl}/api/v1/docs`);
    const answers = await page.evaluate(async (target) => {
      const tried = [
        fetch(`${target}/api/v1/sandbox/messages`),
        fetch(`${target}/api/v1/sandbox/messages`, { headers: { 'x-postrider-dashboard': '1' } }),
        fetch(`${target}/api/v1/sandbox/messages`, { method: 'DELETE' }),
      ];
      return Promise.all(
        tried.map((one) =>
          one.then(
            () => 'answered',
            () => 'refused',
          ),
        ),
      );
    }, url);
    expect(answers).toEqual(['refused', 'refused', 'refused']);
    expect((await server.call('GET', '/sandbox/messages')).json.Items.length).toBeGreaterThan(0);
  });
});
