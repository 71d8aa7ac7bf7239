/** The server as its operators see it: checks when asked, processes, warm-up, settings, refusals; and what others see of it. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { createFakeDns } from '../fakes/fake-dns.ts';
import { startSmtpSink } from '../fakes/smtp-sink.ts';
import {
  addDomain,
  fileScope,
  type Instance,
  makeToken,
  startInstance,
  temporaryFolder,
} from '../scenarios/harness.ts';
import { hasBrowser, openBrowser, openPage, PHONE } from './browser.ts';
import { addPerson, openPageAs } from './people-kit.ts';

const HOSTILE = '<img src=x onerror=alert(1)>';
const ADA = 'ada@example.com';

describe.skipIf(!hasBrowser)('the place System', () => {
  const scope = fileScope();
  let server: Instance;
  let browser: Browser;
  let url: string;

  beforeAll(async () => {
    const far = await startSmtpSink();
    const dns = await createFakeDns({
      'big.example': { MX: ['mta1.am0.yahoodns.net'] },
      'mta1.am0.yahoodns.net': { A: ['127.0.0.1'] },
    });
    scope.defer(() => Promise.all([far.close(), dns.close()]));
    const folder = await temporaryFolder(scope);
    const source = { id: 'fresh', address: '127.0.0.9', newSince: '2026-01-01' };
    await writeFile(join(folder, 'postrider.json'), JSON.stringify({ sources: [source] }));
    const settings = {
      ...{ route: 'mx', dns: dns.text, 'mx-port': String(far.port), 'allow-networks': '127.0.0.0/8' },
    };
    server = await startInstance(scope, { folder, settings });
    browser = await openBrowser(scope);
    url = `${server.server.localUrl}/system`;
    await addPerson(server, ADA);
    await addDomain(server, 'example.com');
    await server.call('POST', '/domains', { body: { Domain: 'unpublished.example' } });
    const token = await makeToken(server, { Name: HOSTILE, Domains: ['example.com'], Preset: 'Send' });
    await server.call('GET', '/email', { token });
    await server.call('GET', '/email', { token });
    await server.call('GET', '/me', { token: 'nonsense' });
  });

  it('checks this server and every domain when asked, with what helps', async () => {
    const { page, errors } = await openPageAs(browser, server, ADA);
    await page.goto(url);
    await page.getByText('Nothing was checked yet').waitFor();
    await page.getByRole('button', { name: 'Check everything' }).click();
    await page.getByRole('heading', { name: 'This server' }).waitFor();
    await page.getByRole('button', { name: 'Check again' }).waitFor();
    await page.getByRole('heading', { name: 'unpublished.example' }).waitFor();
    await page.getByText('checked', { exact: false }).first().waitFor();
    await expect.poll(() => page.getByRole('progressbar').count()).toBe(0);
    const headings = await page.getByRole('heading', { level: 2 }).allTextContents();
    expect(headings).toEqual(['This server', expect.any(String), expect.any(String)]);
    expect(errors).toEqual([]);
  });

  it('says which processes run, which version, and how to back it up', async () => {
    const { page } = await openPageAs(browser, server, ADA);
    await page.goto(`${url}?tab=server`);
    await page.getByText('postrider 0.0.0-scenario runs in production').waitFor();
    await page.getByText('(the one that answers) has been running since').waitFor();
    await page.getByText(`--data ${server.folder}`).waitFor();
  });

  it('finds settings by any word, those that were set first, and shows no secret', async () => {
    const { page } = await openPageAs(browser, server, ADA);
    await page.goto(`${url}?tab=config&q=hostname`);
    const key = page.getByRole('rowheader');
    await page.getByText('mail.postrider.test').first().waitFor();
    await page.getByLabel('Find a setting').fill('nothing of that kind');
    await page.getByRole('button', { name: 'Show all settings' }).click();
    await expect.poll(() => key.count()).toBeGreaterThan(40);
    expect(page.url()).toBe(`${url}?tab=config`);
    const rows = await page.getByRole('row').allTextContents();
    const isDefault = rows.slice(1).map((text) => /default(?!:)/.test(text));
    expect(isDefault[0]).toBe(false);
  });

  it('is where it was left for who comes back', async () => {
    const { page } = await openPageAs(browser, server, ADA);
    await page.goto(`${url}?tab=config`);
    await expect.poll(() => page.getByRole('rowheader').count()).toBeGreaterThan(40);
    const top = () => page.evaluate<number>('document.querySelector("main > div").scrollTop');
    await page.evaluate('document.querySelector("main > div").scrollTop = 900');
    await expect.poll(top).toBe(900);
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(await top()).toBe(0);
    await page.goBack();
    await expect.poll(top).toBe(900);
  });

  it('tells what was refused, as text, and what helps', async () => {
    const { page, errors } = await openPageAs(browser, server, ADA);
    await page.goto(`${url}?tab=refused`);
    const refused = page.getByRole('list', { name: 'Refused' }).getByRole('listitem');
    const scope = refused.filter({ hasText: HOSTILE });
    await scope.getByText('2 times').waitFor();
    await scope.getByText('a token with a wider preset').waitFor();
    await refused.filter({ hasText: 'without a login' }).getByText('was revoked: make a new one').waitFor();
    expect(errors).toEqual([]);
  });

  it('draws how much of its budget a new source has used', async () => {
    await server.settled(await server.send({ To: [{ email: 'reader@big.example' }] }));
    const { page } = await openPageAs(browser, server, ADA);
    await page.goto(`${url}?tab=warmup`);
    await page.getByRole('heading', { name: 'fresh' }).waitFor();
    const row = page.getByRole('list', { name: 'Providers of fresh' }).getByRole('listitem');
    await row.filter({ hasText: 'yahoo' }).getByText('1 of 50').waitFor();
  });

  const ROLES = [
    { Role: 'operator', tabs: ['Checks', 'Server', 'Warm-up', 'Settings', 'Refused'] },
    { Role: 'viewer', Domains: ['example.com'], tabs: [] },
    { Role: 'member', Domains: ['example.com'], Preset: 'Send', tabs: null },
  ] as const;

  it.each(ROLES)('offers each role what it may, also on a phone: %j', async ({ tabs, ...rights }) => {
    const email = `${rights.Role}@example.com`;
    await addPerson(server, email, structuredClone(rights) as never);
    const { page, errors } = await openPageAs(browser, server, email, { viewport: PHONE, hasTouch: true });
    const me = page.waitForResponse('**/api/v1/me');
    await page.goto(url.replace('/system', '/messages'));
    await me;
    await page
      .getByRole('navigation')
      .filter({ visible: true })
      .getByRole('button', { name: 'More' })
      .click();
    const place = page.getByRole('menuitem', { name: 'System', exact: true });
    await expect.poll(() => place.count()).toBe(tabs === null ? 0 : 1);
    if (tabs === null) return;
    await place.click();
    await page.getByRole('heading', { name: 'System' }).waitFor();
    await expect.poll(() => page.getByRole('radio').allTextContents()).toEqual(tabs);
    if (tabs.length === 0) await page.getByRole('list', { name: 'Refused' }).waitFor();
    for (const tab of tabs) {
      await page.getByRole('radio', { name: tab }).click();
      await page.getByText('Loading').waitFor({ state: 'detached' });
      expect(await isWide(page), tab).toBe(false);
    }
    expect(errors).toEqual([]);
  });

  it('is there on a development server without a sign-in', async () => {
    const dev = await startInstance(scope, { mode: 'dev' });
    const { page } = await openPage(browser);
    await page.goto(`${dev.server.localUrl}/system`);
    await page.getByRole('radio', { name: 'Server' }).click();
    await page.getByText('runs for development').waitFor();
    await page.getByRole('link', { name: 'Queue' }).waitFor();
  });

  const isWide = (page: Page) => page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth');
});
