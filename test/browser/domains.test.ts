/**
 * The domains in a browser, before a real server and a DNS whose records appear while one looks: a domain is added, its records
 * are copied, it turns green by itself, is set up, rotated and removed; what a stranger's DNS says stays text; a viewer and a
 * member see what is theirs. On a desktop and on a phone.
 */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { createFakeDns, type FakeDns } from '../fakes/fake-dns.ts';
import { fileScope, type Instance, startInstance, until } from '../scenarios/harness.ts';
import { attached, dmarcDocument, handIn } from '../scenarios/returns-kit.ts';
import { hasBrowser, openBrowser, openPage, PHONE } from './browser.ts';
import { signedIn } from './people-kit.ts';

describe.skipIf(!hasBrowser)('the domains', () => {
  const scope = fileScope();
  let dns: FakeDns;
  let server: Instance;
  let browser: Browser;
  let url: string;
  let operator: BrowserContextOptions;

  beforeAll(async () => {
    // A zone with a name server of its own, which is asked directly: a resolver would remember that a record is missing.
    dns = await createFakeDns({
      'shop.example': { NS: ['ns.shop.example'] },
      'ns.shop.example': { A: ['127.0.0.1'] },
    });
    scope.defer(() => dns.close());
    server = await startInstance(scope, {
      settings: { dns: dns.text, 'allow-networks': '127.0.0.0/8' },
      trust: { ca: [], mtaStsPort: 1, zonePort: dns.server.port },
    });
    browser = await openBrowser(scope);
    url = `${server.server.localUrl}/domains`;
    operator = await signedIn(server);
  });

  const table = (page: Page) => page.getByRole('table', { name: 'DNS records' });
  const standing = (page: Page) => page.getByRole('status', { name: 'How it stands' });
  const wide = (page: Page) =>
    page.evaluate<boolean>('document.documentElement.scrollWidth > document.documentElement.clientWidth');
  const add = async (name: string, more: object = {}) => {
    const answer = await server.call('POST', '/domains', { body: { Domain: name, ...more } });
    expect(answer.status, answer.text).toBe(201);
    return answer.json;
  };
  /** Publishes what is to be published, except what `but` takes out. */
  const publish = async (name: string, but: (record: { Purpose: string }) => boolean = () => false) => {
    const { DnsRecords } = (await server.call('GET', `/domains/${name}`)).json;
    for (const record of DnsRecords)
      if (record.Type === 'TXT' && !but(record)) dns.set(record.Host, { TXT: [record.Value] });
  };

  it('adds the first domain and turns green while one looks', async () => {
    const { page, errors, requests } = await openPage(browser, operator);
    await page.clock.install();
    await page.goto(url);
    await page.getByText('No sender domain yet').waitFor();
    await page.getByRole('button', { name: 'Add a domain' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add a domain' });
    await dialog.getByLabel('Domain', { exact: true }).fill('not a name');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await dialog.getByRole('alert').getByText('is not a domain name').waitFor();
    await dialog.getByLabel('Domain', { exact: true }).fill('News.Shop.Example');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('heading', { name: 'news.shop.example', level: 1 }).waitFor();
    await standing(page).getByText('Pending').waitFor();
    await table(page).getByText('pr1._domainkey', { exact: true }).waitFor();
    await page.clock.runFor(20_000);
    await table(page).getByText('Missing').first().waitFor();
    await publish('news.shop.example');
    await page.clock.runFor(20_000);
    // The server looks at a domain every ten seconds of its own time.
    await until(
      'it is green',
      async () => {
        await page.clock.runFor(15_000);
        return (await standing(page).getByText('Verified').count()) === 1;
      },
      40_000,
    );
    await expect.poll(() => table(page).getByText('In place').count()).toBeGreaterThanOrEqual(3);
    // What a browser writes of an answer that refuses.
    expect(errors.filter((one) => !/status of (?:422|429)/.test(one))).toEqual([]);
    expect(requests.filter((one) => !one.startsWith(server.server.localUrl))).toEqual([]);
  });

  it('shows each record as the DNS host wants it, to copy', async () => {
    const context = await browser.newContext({
      ...operator,
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const page = await context.newPage();
    await page.goto(`${url}/news.shop.example`);
    await page.getByLabel('Zone, as the DNS host calls it').selectOption('shop.example');
    const copied = () => page.evaluate<string>('navigator.clipboard.readText()');
    await page.getByRole('button', { name: 'Copy the name pr1._domainkey.news', exact: true }).click();
    expect(await copied()).toBe('pr1._domainkey.news');
    await page.getByLabel('DNS host', { exact: true }).selectOption('Amazon Route 53');
    await page.getByRole('button', { name: 'Copy the value of pr1._domainkey.news.shop.example' }).click();
    expect(await copied()).toMatch(/^"v=DKIM1; k=rsa; p=[^"]{237}" "[^"]+"$/);
    await page.getByText('All of them as a zone file').click();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download' }).click();
    expect((await download).suggestedFilename()).toBe('news.shop.example.zone');
    await context.close();
  });

  it('says what is wrong with a record in words, and keeps what a stranger wrote as text', async () => {
    await add('wrong.example');
    await publish('wrong.example', ({ Purpose }) => Purpose === 'DMARC');
    dns.set('_dmarc.wrong.example', {
      TXT: ['v=DMARC1; p=<img src=x onerror="document.title=\'ran\'">', 'v=DMARC1; p=none \u202Ereversed'],
    });
    const { page, errors } = await openPage(browser, operator);
    await page.goto(`${url}/wrong.example`);
    await page.getByRole('button', { name: 'Check now' }).click();
    await table(page).getByText('There are 2 DMARC records').waitFor();
    await table(page).getByText('Keep one of them').waitFor();
    await table(page).getByText('<img src=x').waitFor();
    expect(await page.title()).not.toBe('ran');
    await page.getByRole('radio', { name: 'Signing' }).click();
    await page.getByRole('figure').getByText('d=wrong.example').waitFor();
    await page.getByRole('figure').getByText('DMARC passes by the signature alone').waitFor();
    expect(errors).toEqual([]);
  });

  it('saves settings, with what is refused at its field', async () => {
    const { page } = await openPage(browser, operator);
    await page.goto(`${url}/wrong.example?view=settings`);
    await page.getByLabel('Return-path host').fill('bounces.elsewhere.example');
    await page.getByLabel('Send only with verified TLS').check();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').getByText('or a host below it').waitFor();
    await page.getByLabel('Return-path host').fill('bounces.wrong.example');
    await page.getByLabel('Per day').fill('500');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The DNS records changed').waitFor();
    const { json } = await server.call('GET', '/domains/wrong.example');
    expect(json).toMatchObject({ RequireTls: true, ReturnPathHost: 'bounces.wrong.example' });
    await page.getByRole('radio', { name: 'Limits' }).click();
    expect(await page.getByRole('meter', { name: 'Today' }).getAttribute('aria-valuemax')).toBe('500');
    await page.getByRole('button', { name: 'Hold its mail…' }).click();
    await page.getByLabel('Reason').fill('wrong price');
    await page.getByRole('button', { name: 'Hold', exact: true }).click();
    await page.getByRole('list', { name: 'Holds' }).getByText('wrong price').waitFor();
    await standing(page).getByText('All its mail waits now').waitFor();
  });

  it('rotates the key, and says how long the old record stays', async () => {
    const { page } = await openPage(browser, operator);
    await page.goto(`${url}/news.shop.example?view=signing`);
    const keys = page.getByRole('list', { name: 'DKIM keys' }).getByRole('listitem');
    await keys.filter({ hasText: 'pr1' }).getByText('Signs now').waitFor();
    await page.getByRole('button', { name: 'Rotate the key…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate', exact: true }).click();
    await keys.filter({ hasText: 'pr2' }).getByText('Signs now').waitFor();
    await keys.filter({ hasText: 'pr1' }).getByText('it is replaced on').waitFor();
    await page.getByText('the next key is made on').waitFor();
    await expect.poll(() => page.getByRole('button', { name: 'Rotate the key…' }).count()).toBe(0);
  });

  it('is found by a part of its name, and removed by typing it', async () => {
    const { page } = await openPage(browser, operator);
    await page.goto(url);
    const list = page.getByRole('table', { name: 'Sender domains' });
    await list.getByRole('link', { name: 'wrong.example' }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('shop');
    await page.waitForURL(`${url}?q=shop`);
    await until('one is left', async () => (await list.getByRole('link').count()) === 1);
    await page.goto(`${url}/wrong.example?view=settings`);
    await page.getByRole('button', { name: 'Remove…' }).click();
    const dialog = page.getByRole('dialog');
    const remove = dialog.getByRole('button', { name: 'Remove', exact: true });
    expect(await remove.isDisabled()).toBe(true);
    await dialog.getByLabel('Type wrong.example').fill('wrong.example');
    await remove.click();
    await page.waitForURL(url);
    await until('it is gone', async () => (await list.getByRole('link').count()) === 1);
    expect((await server.call('GET', '/domains/wrong.example')).status).toBe(404);
  });

  it('is used on a phone without scrolling sideways, behind “More”', async () => {
    const long = `${'very-long-name-of-a-department'.repeat(2)}.organisation.example`;
    await add(long);
    const { page, errors } = await openPage(browser, { ...operator, viewport: PHONE, hasTouch: true });
    await page.goto(server.server.localUrl);
    await page.getByRole('navigation').getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Domains' }).click();
    const list = page.getByRole('list', { name: 'Sender domains' });
    await list.getByRole('link', { name: long }).waitFor();
    // The place that is open stands behind it.
    expect(await page.getByRole('button', { name: 'More' }).getAttribute('data-status')).toBe('active');
    expect(await wide(page)).toBe(false);
    await list.getByRole('link', { name: long }).click();
    await page.getByRole('list', { name: 'DNS records' }).getByText('Ownership').waitFor();
    expect(await wide(page)).toBe(false);
    for (const view of ['Signing', 'Limits', 'Settings']) {
      await page.getByRole('radio', { name: view }).click();
      await page.getByRole('heading', { level: 2 }).first().waitFor();
      expect(await wide(page), view).toBe(false);
    }
    expect(errors).toEqual([]);
  });

  it('gives a viewer no button that is refused, and a member own domains', async () => {
    for (const name of ['own.example', 'other.example']) await add(name);
    const open = async (role: object) => {
      const watched = await openPage(browser, await signedIn(server, role));
      await watched.page.goto(url);
      await watched.page.getByRole('link', { name: 'own.example' }).waitFor();
      return watched;
    };
    const vera = await open({ Role: 'viewer', Domains: ['*'] });
    await vera.page.getByRole('link', { name: 'other.example' }).waitFor();
    await expect.poll(() => vera.page.getByRole('button', { name: 'Add a domain' }).count()).toBe(0);
    await vera.page.getByRole('link', { name: 'own.example' }).click();
    await table(vera.page).waitFor();
    await expect.poll(() => vera.page.getByRole('button', { name: 'Check now' }).count()).toBe(0);
    for (const [view, never] of [
      ['Signing', 'Rotate the key…'],
      ['Limits', 'Release'],
      ['Settings', 'Save'],
    ] as const) {
      await vera.page.getByRole('radio', { name: view }).click();
      await vera.page.getByRole('heading', { level: 2 }).first().waitFor();
      await expect
        .poll(() => vera.page.getByRole('button', { name: never }).count(), { message: view })
        .toBe(0);
    }
    await expect.poll(() => vera.page.getByRole('button', { name: 'Remove…' }).count()).toBe(0);
    const max = await open({ Role: 'member', Preset: 'Full', Domains: ['own.example'] });
    await expect.poll(() => max.page.getByRole('link', { name: 'other.example' }).count()).toBe(0);
    await max.page.getByRole('link', { name: 'own.example' }).click();
    await max.page.getByRole('button', { name: 'Check now' }).click();
    await table(max.page).getByText('Missing').first().waitFor();
    await max.page.getByRole('radio', { name: 'Limits' }).click();
    await max.page.getByRole('heading', { name: 'Quota' }).waitFor();
    expect([...vera.errors, ...max.errors]).toEqual([]);
  });

  it('shows what receivers report of mail in its name', async () => {
    const own = await startInstance(scope, {
      settings: { returns: '127.0.0.1:0', 'bounce-domain': 'bounces.reported.example' },
    });
    await own.call('POST', '/domains', { body: { Domain: 'reported.example', Verified: true } });
    const { page, errors } = await openPage(browser, await signedIn(own));
    await page.goto(`${own.server.localUrl}/domains/reported.example`);
    await page.getByRole('radio', { name: 'Reports' }).click();
    await page.getByText('No DMARC report arrived in the last 30 days').waitFor();
    await page.getByText('rua=mailto:dmarc@bounces.reported.example').waitFor();
    const failing = {
      ...({
        ip: '2001:db8:1:2:3:4:5:6',
        n: 3,
        dkim: 'fail',
        spf: 'fail',
        disposition: 'quarantine',
      } as const),
      more: '<auth_results><spf><domain>elsewhere.example</domain><result>softfail</result></spf></auth_results>',
    };
    const document = dmarcDocument([{ ip: '192.0.2.1', n: 1_200 }, failing], { domain: 'reported.example' });
    await handIn(
      scope,
      own.server.returns?.port ?? 0,
      'dmarc@bounces.reported.example',
      attached('text/xml', Buffer.from(document)),
    );
    await until(
      'it is read',
      async () => (await own.call('GET', '/domains/reported.example/dmarc')).json.Reports === 1,
    );
    await page.reload();
    await page.getByRole('meter', { name: 'Passed DMARC' }).waitFor();
    const sources = page.getByRole('table', { name: 'Sources' });
    await sources.getByText('3 × spf=softfail d=elsewhere.example').waitFor();
    expect(await sources.getByRole('row').nth(1).textContent()).toContain('192.0.2.11,200100%');
    await page.getByRole('table', { name: 'Reported by' }).getByText('not signed').waitFor();
    await page.setViewportSize({ width: 390, height: 800 });
    await page.getByRole('list', { name: 'Sources' }).waitFor();
    expect(await wide(page)).toBe(false);
    expect(errors).toEqual([]);
  });
});
