/** Tokens, SMTP logins, people and the audit, as an operator works with them; and what each role is offered of them. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { createTransport } from 'nodemailer';
import type { Browser, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { addDomain, fileScope, type Instance, startInstance } from '../scenarios/harness.ts';
import { hasBrowser, openBrowser, PHONE } from './browser.ts';
import { addPerson, openPageAs } from './people-kit.ts';

const HOSTILE = '<img src=x onerror=alert(1)>';
const ADA = 'ada@example.com';

describe.skipIf(!hasBrowser)('the place Access', () => {
  const scope = fileScope();
  let server: Instance;
  let browser: Browser;
  let url: string;

  beforeAll(async () => {
    const settings = { 'submission-tls': '127.0.0.1:0', submission: '127.0.0.1:0' };
    server = await startInstance(scope, { settings });
    browser = await openBrowser(scope);
    url = `${server.server.localUrl}/access`;
    await addDomain(server, 'example.com');
    await addDomain(server, 'other.example');
    await addPerson(server, ADA);
  });

  const row = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text });
  const actions = async (page: Page, text: string, name: string): Promise<void> => {
    await page.getByRole('button', { name: `Actions for ${text}`, exact: true }).click();
    await page.getByRole('menuitem', { name }).click();
  };

  const focused = (page: Page) => page.locator(':focus');
  /** What a dialog shows to be copied. */
  const shown = async (page: Page): Promise<string[]> => {
    await page.getByText('it is not shown again').waitFor();
    return page.getByRole('dialog').locator('pre').allTextContents();
  };

  it('makes a token whose command works as pasted, and revokes it by its name', async () => {
    const { page, errors } = await openPageAs(browser, server, ADA);
    await page.goto(url);
    await page.getByRole('button', { name: 'New token' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill(HOSTILE);
    await dialog.getByRole('radio', { name: 'Send' }).check();
    await dialog.getByText('May not read anything').waitFor();
    await dialog.getByLabel('example.com', { exact: true }).check();
    await dialog.getByLabel('Only from these addresses').fill('127.0.0.1 ::1');
    await dialog.getByLabel('Sends per second').fill('5');
    await dialog.getByRole('button', { name: 'Make the token' }).click();
    const [token = '', command = ''] = await shown(page);
    expect(await focused(page).textContent()).toContain('Copy the token now');
    const { stdout } = await promisify(execFile)('sh', ['-c', command]);
    expect(JSON.parse(stdout)).toEqual({ MessageID: expect.any(String) });
    await dialog.getByRole('button', { name: 'I have copied it' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await focused(page).textContent()).toContain('New token');
    const made = row(page, HOSTILE);
    await made.getByText('Send mail').waitFor();
    await made.getByText('At most 5 a second · From 127.0.0.1, ::1').waitFor();
    await made.getByText('by you').waitFor();
    expect((await page.content()).includes(token)).toBe(false);
    await actions(page, HOSTILE, 'Revoke');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await focused(page).getAttribute('aria-label')).toBe(`Actions for ${HOSTILE}`);
    await actions(page, HOSTILE, 'Revoke');
    const revoke = dialog.getByRole('button', { name: 'Revoke' });
    expect(await revoke.isDisabled()).toBe(true);
    await dialog.getByRole('textbox', { name: 'Type' }).fill(HOSTILE);
    await revoke.click();
    await made.waitFor({ state: 'detached' });
    expect((await server.call('GET', '/me', { token })).status).toBe(401);
    await page.getByLabel('Show revoked and ended tokens').check();
    await made.getByText('revoked').waitFor();
    expect(errors).toEqual([]);
  });

  it('says at the form what is refused, and makes nothing', async () => {
    const { page } = await openPageAs(browser, server, ADA);
    await page.goto(url);
    await page.getByRole('button', { name: 'New token' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('typo');
    const missing = dialog.getByText('Choose a domain first');
    await missing.waitFor();
    expect(await dialog.getByRole('button', { name: 'Make the token' }).isDisabled()).toBe(true);
    await dialog.getByLabel('example.com', { exact: true }).check();
    expect(await missing.count()).toBe(0);
    await dialog.getByLabel('Only from these addresses').fill('10.0.0.0/99');
    await dialog.getByRole('button', { name: 'Make the token' }).click();
    await dialog.getByRole('alert').getByText('takes addresses and ranges').waitFor();
    expect((await server.call('GET', '/tokens')).text).not.toContain('typo');
  });

  it('shows what a token made below it, and ends that with it', async () => {
    const body = { Name: 'parent', Domains: ['example.com'], Preset: 'Full' };
    const parent = (await server.call('POST', '/tokens', { body })).json;
    const child = { Name: 'child', Domains: ['example.com'], Preset: 'Send' };
    const made = (await server.call('POST', '/tokens', { body: child, token: parent.Token })).json;
    const { page } = await openPageAs(browser, server, ADA);
    await page.goto(url);
    await row(page, 'child').getByText('by the token parent').waitFor();
    const names = await page.getByRole('rowheader').allTextContents();
    expect(names.indexOf('└child')).toBe(names.indexOf('└parent') + 1);
    await actions(page, 'parent', 'Replace');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Replace', exact: true }).click();
    const [rotated = ''] = await shown(page);
    expect((await server.call('GET', '/me', { token: rotated })).status).toBe(200);
    await dialog.getByRole('button', { name: 'I have copied it' }).click();
    await server.call('DELETE', `/tokens/${parent.TokenID}?Children=true`);
    expect((await server.call('GET', '/me', { token: made.Token })).status).toBe(401);
  });

  it('finds tokens and people, also beyond the first page and where code of a dialog is gone', async () => {
    const oldest = (await server.call('GET', '/tokens?Limit=100')).json.Items.at(-1);
    for (const Name of ['Nightly report', 'Web shop'])
      await server.call('POST', '/tokens', { body: { Name, Domains: ['example.com'], Preset: 'Send' } });
    await addPerson(server, 'found@example.com', { Role: 'viewer', Domains: ['*'] });
    const { page } = await openPageAs(browser, server, ADA);
    await page.route('**/api/v1/tokens?*', (route) =>
      route.continue({ url: route.request().url().replace('Limit=100', 'Limit=1') }),
    );
    await page.goto(`${url}?q=nightly`);
    // The token that made it is the last that is read.
    await row(page, 'Nightly report').getByText(`by the token ${oldest.Name}`).waitFor();
    expect(await page.getByRole('row').count()).toBe(2);
    // Somebody's address is looked for in the first box that is seen.
    await page.getByRole('searchbox', { name: 'Find a token' }).fill('Ada <ada@example.net>');
    const mail = page.getByRole('link', { name: 'Show the mail to ada@example.net' });
    expect(await mail.getAttribute('href')).toBe('/messages?q=ada%40example.net');
    await page.getByRole('button', { name: 'Show all tokens' }).click();
    await row(page, 'Web shop').waitFor();
    await page.route('**/assets/**', (route) => route.fulfill({ status: 404 }));
    await page.getByRole('button', { name: /^Signed in as/ }).click();
    await page.getByRole('menuitem', { name: 'Sessions' }).click();
    const gone = page.getByRole('dialog', { name: 'This page has to be loaded again' });
    await gone.getByText('the server was upgraded since it was opened').waitFor();
    await gone.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('radio', { name: 'People' }).click();
    await page.getByRole('searchbox', { name: 'Find a person' }).fill('viewer');
    await expect.poll(() => page.getByRole('row').filter({ hasText: ADA }).count()).toBe(0);
    await row(page, 'found@example.com').waitFor();
    expect(page.url()).toBe(`${url}?tab=people&q=viewer`);
  });

  it('makes a thing once and shows its secret also where the first answer is lost', async () => {
    const { page } = await openPageAs(browser, server, ADA);
    const lost: string[] = [];
    for (const path of ['tokens', 'smtp-credentials', 'people']) {
      await page.route(`**/api/v1/${path}`, async (route) => {
        if (route.request().method() !== 'POST' || lost.includes(path)) return route.fallback();
        lost.push(path);
        await route.fetch();
        await route.abort('connectionreset');
      });
    }
    await page.goto(url);
    await page.getByRole('button', { name: 'New token' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('lost');
    await dialog.getByLabel('example.com', { exact: true }).check();
    await dialog.getByRole('button', { name: 'Make the token' }).click();
    const [token = ''] = await shown(page);
    expect((await server.call('GET', '/me', { token })).status).toBe(200);
    await dialog.getByRole('button', { name: 'I have copied it' }).click();
    await expect.poll(() => row(page, 'lost').count()).toBe(1);

    await page.goto(`${url}?tab=smtp`);
    await page.getByRole('button', { name: 'New SMTP credential' }).click();
    await dialog.getByLabel('Domain').selectOption('example.com');
    await dialog.getByLabel('Name', { exact: true }).fill('lost');
    await dialog.getByRole('button', { name: 'Make the credential' }).click();
    await shown(page);
    await dialog.getByRole('button', { name: 'I have copied it' }).click();
    const { Items } = (await server.call('GET', '/smtp-credentials')).json;
    expect(Items).toHaveLength(1);
    await server.call('DELETE', `/smtp-credentials/${Items[0].CredentialID}`);

    await page.goto(`${url}?tab=people`);
    await page.getByRole('button', { name: 'Add a person' }).click();
    await dialog.getByLabel('Email address').fill('lost@example.com');
    await dialog.getByLabel('Role').selectOption('operator');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    const [Password = ''] = await shown(page);
    const signIn = await server.call('POST', '/session', {
      token: null,
      headers: { origin: server.server.localUrl, 'x-postrider-dashboard': '1' },
      body: { Email: 'lost@example.com', Password },
    });
    expect([signIn.status, lost]).toEqual([200, ['tokens', 'smtp-credentials', 'people']]);
  });

  it('shows the new token also where the old one ends at once, and its row goes', async () => {
    const body = { Name: 'replaced at once', Domains: ['example.com'], Preset: 'Send' };
    const old = (await server.call('POST', '/tokens', { body })).json;
    const { page } = await openPageAs(browser, server, ADA);
    await page.goto(url);
    await actions(page, 'replaced at once', 'Replace');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('The old token').selectOption('0');
    const isReadAgain = page.waitForResponse((one) => /\/tokens\?/.test(one.url()));
    await dialog.getByRole('button', { name: 'Replace', exact: true }).click();
    await (await isReadAgain).finished();
    await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
    const [made = ''] = await shown(page);
    expect((await server.call('GET', '/me', { token: old.Token })).status).toBe(401);
    expect((await server.call('GET', '/me', { token: made })).status).toBe(200);
  });

  it('makes an SMTP login that works with the settings it shows', async () => {
    const { page } = await openPageAs(browser, server, ADA);
    await page.goto(`${url}?tab=smtp`);
    await page.getByText('Programs connect to 127.0.0.1:').waitFor();
    await page.getByRole('button', { name: 'New SMTP credential' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Domain').selectOption('example.com');
    await dialog.getByLabel('Name').fill(HOSTILE);
    await dialog.getByRole('button', { name: 'Make the credential' }).click();
    for (const port of [0, 1]) {
      await dialog.getByLabel('Port', { exact: true }).selectOption(String(port));
      const [settings = ''] = await shown(page);
      const given = /createTransport\((\{[\s\S]*?\n\})\)/.exec(settings)?.[1] ?? '';
      const options = new Function(`return (${given})`)();
      const transport = createTransport({ ...options, tls: { rejectUnauthorized: false } });
      expect(await transport.verify()).toBe(true);
      transport.close();
    }
    await dialog.getByLabel('Settings for', { exact: true }).selectOption('django');
    await dialog.getByText('EMAIL_USE_').waitFor();
    await dialog.getByRole('button', { name: 'I have copied it' }).click();
    const made = row(page, HOSTILE);
    await made.getByRole('button', { name: 'Revoke' }).click();
    const user = (await made.locator('td').first().textContent()) ?? '';
    await dialog.getByRole('textbox', { name: 'Type' }).fill(user);
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('No SMTP credentials yet').waitFor();
  });

  it('finds the domain of an SMTP login by a part of its name, where there are many', async () => {
    const { page, errors } = await openPageAs(browser, server, ADA);
    const Domains = Array.from({ length: 100 }, (_, n) => ({ Domain: `d${n}.example`, Verified: true }));
    await page.route('**/api/v1/me', async (route) => {
      const answer = await (await route.fetch()).json();
      await route.fulfill({ json: { ...answer, Domains } });
    });
    await page.goto(`${url}?tab=smtp`);
    await page.getByRole('button', { name: 'New SMTP credential' }).click();
    const dialog = page.getByRole('dialog');
    const field = dialog.getByLabel('Sender domain', { exact: true });
    const offered = () =>
      page.evaluate<string[]>(
        "[...document.querySelectorAll('dialog datalist option')].map((one) => one.value)",
      );
    await field.fill('THER.ex');
    await expect.poll(offered).toEqual(['other.example']);
    await field.fill('nobody.example');
    await expect.poll(offered).toEqual([]);
    await dialog.getByText('No sender domain has this name').waitFor();
    await field.fill('other.example');
    await dialog.getByRole('button', { name: 'Make the credential' }).click();
    await dialog.getByRole('button', { name: 'I have copied it' }).click();
    const { Items } = (await server.call('GET', '/smtp-credentials')).json;
    expect(Items).toMatchObject([{ Domain: 'other.example' }]);
    await server.call('DELETE', `/smtp-credentials/${Items[0].CredentialID}`);
    expect(errors.filter((one) => !/status of 4/.test(one))).toEqual([]);
  });

  it('adds a person who can sign in, ends the sessions, disables and removes', async () => {
    const Email = 'bob@example.com';
    const { page, errors } = await openPageAs(browser, server, ADA);
    await page.goto(`${url}?tab=people`);
    await row(page, ADA).getByText('you', { exact: true }).waitFor();
    await expect.poll(() => row(page, ADA).getByRole('button').count()).toBe(0);
    await page.getByRole('button', { name: 'Add a person' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Email address').fill(`${'x'.repeat(65)}@example.com`);
    await dialog.getByLabel('other.example').check();
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await dialog
      .getByRole('textbox', { name: 'Email address', description: 'Email is not a valid address' })
      .waitFor();
    await dialog.getByLabel('Email address').fill(Email);
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    const [Password = ''] = await shown(page);
    await dialog.getByRole('button', { name: 'I have copied it' }).click();
    await row(page, Email).getByText('Member (Default)').waitFor();
    const signIn = async () => {
      const headers = { origin: server.server.localUrl, 'x-postrider-dashboard': '1' };
      const answer = await server.call('POST', '/session', {
        ...{ token: null, headers, body: { Email, Password } },
      });
      const [cookie = ''] = answer.headers.getSetCookie().join().split(';');
      const as = { token: null, headers: { ...headers, cookie } };
      return {
        status: answer.status,
        isOpen: async () => (await server.call('GET', '/session', as)).status === 200,
      };
    };
    const session = await signIn();
    expect([session.status, await session.isOpen()]).toEqual([200, true]);
    await actions(page, Email, 'End all sessions');
    await page.getByText('All sessions of bob@example.com have ended').waitFor();
    expect(await session.isOpen()).toBe(false);
    await actions(page, Email, 'Change role and domains');
    await dialog.getByLabel('Role').selectOption('viewer');
    await dialog.getByLabel('All domains').check();
    await dialog.getByRole('button', { name: 'Change', exact: true }).click();
    await row(page, Email).getByText('all domains', { exact: true }).waitFor();
    await actions(page, Email, 'Disable');
    await dialog.getByRole('textbox', { name: 'Type' }).fill(Email);
    await dialog.getByRole('button', { name: 'Disable' }).click();
    await row(page, Email).getByText('disabled').waitFor();
    expect((await signIn()).status).toBe(401);
    await actions(page, Email, 'Enable');
    await actions(page, Email, 'Set a new password');
    await dialog.getByRole('button', { name: 'Make a new password' }).click();
    const [second = ''] = await shown(page);
    expect(second).not.toBe(Password);
    await dialog.getByRole('button', { name: 'I have copied it' }).click();
    await actions(page, Email, 'Remove');
    await dialog.getByRole('textbox', { name: 'Type' }).fill(Email);
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await row(page, Email).waitFor({ state: 'detached' });
    // The address that was refused.
    expect(errors.filter((one) => !one.includes('status of 422'))).toEqual([]);
  });

  it('tells who changed what in sentences, found by the address of the page', async () => {
    await server.call('POST', '/domains', { body: { Domain: 'new.example' } });
    const token = { Name: HOSTILE, Domains: ['example.com'], Preset: 'Send' };
    const { TokenID } = (await server.call('POST', '/tokens', { body: token })).json;
    await server.call('DELETE', `/tokens/${TokenID}`);
    await addPerson(server, 'gone@example.com');
    const people = (await server.call('GET', '/people?Limit=1')).json.Items;
    await server.call('DELETE', `/people/${people[0].PersonID}`);
    const { page } = await openPageAs(browser, server, ADA);
    await page.goto(`${url}?tab=audit`);
    const changes = page.getByRole('list', { name: 'Changes' }).getByRole('listitem');
    await changes.getByText('added the domain new.example').waitFor();
    await page.keyboard.press('/');
    expect(await page.evaluate('document.activeElement.type')).toBe('search');
    await page.keyboard.press('Escape');
    await changes.getByText(`revoked the token ${HOSTILE}`).first().waitFor();
    await page.getByLabel('What was done').selectOption('deletePerson');
    await changes.getByText('removed a person').first().waitFor();
    await expect.poll(() => changes.filter({ hasNotText: 'removed a person' }).count()).toBe(0);
    expect(page.url()).toBe(`${url}?tab=audit&operation=deletePerson`);
    await page.getByLabel('from').fill('2001-01-02');
    await page.getByLabel('to', { exact: true }).fill('2001-01-03');
    await page.getByRole('button', { name: 'Show all changes' }).click();
    await changes.getByText('added the domain new.example').waitFor();
  });

  it('says to whom it is closed and whom to ask, where an address leads to what the person may not see', async () => {
    const viewer = await addPerson(server, 'vic@example.com', { Role: 'viewer', Domains: ['*'] });
    const { page } = await openPageAs(browser, server, viewer);
    await page.goto(`${url}?tab=smtp`);
    await page.getByRole('heading', { name: 'You may not see this' }).waitFor();
    await page.getByText('Your rights do not include “SMTP”. An operator can give them to you.').waitFor();
    await page.getByRole('radio', { name: 'Tokens' }).click();
    await page.getByText('A program sends its token').waitFor();
    await page.goto(url.replace('/access', '/queue'));
    await page.getByText('Only operators may do this').waitFor();
    // Nothing is offered that would be refused.
    await expect.poll(() => page.getByRole('main').getByRole('button').count()).toBe(0);
    await page.goto(url.replace('/access', '/queue/example.net'));
    await page.getByText('Only operators may do this').waitFor();
    await expect.poll(() => page.getByRole('main').getByRole('button').count()).toBe(0);
    await page.goto(url.replace('/access', '/suppressions/import'));
    await page.getByRole('heading', { name: 'You may not do this' }).waitFor();
    const sender = await addPerson(server, 'sid@example.com', {
      Role: 'member',
      Preset: 'Send',
      Domains: ['example.com'],
    });
    const { page: own } = await openPageAs(browser, server, sender);
    for (const place of ['/messages', '/inbox', '/suppressions']) {
      await own.goto(url.replace('/access', place));
      await own.getByRole('heading', { name: 'You may not see this' }).waitFor();
      expect(await own.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    }
    // No place is offered that would say so.
    await own.goto(url.replace('/access', '/'));
    await own.getByRole('heading', { name: 'There is nothing here that you may see' }).waitFor();
    expect(await own.getByRole('navigation').first().getByRole('listitem').count()).toBe(0);
    await own.keyboard.press('Control+k');
    await own.getByRole('combobox').fill('ada@example.com');
    expect(await own.getByRole('option').count()).toBe(0);
  });

  const ROLES = [
    { Role: 'operator', tabs: ['Tokens', 'SMTP', 'People', 'Audit'], mayMake: true },
    { Role: 'member', Domains: ['example.com'], Preset: 'Full', tabs: ['Tokens', 'SMTP'], mayMake: true },
    { Role: 'member', Domains: ['example.com'], Preset: 'Default', tabs: null, mayMake: false },
    // The only one has no tab to choose.
    { Role: 'viewer', Domains: ['*'], tabs: [], mayMake: false },
  ] as const;

  it.each(ROLES)('offers each role what it may: %j', async ({ tabs, mayMake, ...rights }) => {
    const email = `${rights.Role}-${'Preset' in rights ? rights.Preset.toLowerCase() : 'x'}@example.com`;
    await addPerson(server, email, structuredClone(rights) as never);
    for (const viewport of [undefined, PHONE]) {
      const { page, errors } = await openPageAs(
        browser,
        server,
        email,
        viewport === undefined ? {} : { viewport },
      );
      const me = page.waitForResponse('**/api/v1/me');
      await page.goto(url.replace('/access', '/inbox'));
      await me;
      const nav = page.getByRole('navigation').filter({ visible: true });
      await nav.getByRole('link', { name: 'Inbox' }).waitFor();
      const place =
        viewport === undefined
          ? nav.getByRole('link', { name: 'Access' })
          : page.getByRole('menuitem', { name: 'Access' });
      if (viewport !== undefined) await nav.getByRole('button', { name: 'More' }).click();
      await expect.poll(() => place.count()).toBe(tabs === null ? 0 : 1);
      if (tabs === null) continue;
      await place.click();
      await page.getByRole('heading', { name: 'Access' }).waitFor();
      await page.getByText('A program sends its token').waitFor();
      await expect.poll(() => page.getByRole('radio').allTextContents()).toEqual(tabs);
      await expect.poll(() => page.getByRole('button', { name: 'New token' }).count()).toBe(mayMake ? 1 : 0);
      const isTooWide = () => page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth');
      expect(await isTooWide()).toBe(false);
      for (const tab of tabs) {
        await page.getByRole('radio', { name: tab }).click();
        await page.getByText('Loading').waitFor({ state: 'detached' });
        expect(await isTooWide()).toBe(false);
      }
      expect(errors).toEqual([]);
    }
  });
});
