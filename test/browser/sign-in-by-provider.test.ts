/** Signing in by an identity provider as a person does it: there and back, to the place that was asked for, or to a sentence that helps. */
import type { Browser, Page } from 'playwright-core';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FakeIdentityProvider, startIdentityProvider } from '../fakes/identity-provider.ts';
import { fileScope, type Instance } from '../scenarios/harness.ts';
import { startSigningIn } from '../scenarios/signing-in.ts';
import { hasBrowser, openBrowser, openPage, setHidden } from './browser.ts';
import { addPerson, openPageAs, PASSWORD } from './people-kit.ts';

describe.skipIf(!hasBrowser)('signing in by an identity provider', () => {
  const scope = fileScope();
  let provider: FakeIdentityProvider;
  let server: Instance;
  let browser: Browser;
  let url: string;

  beforeAll(async () => {
    provider = await startIdentityProvider();
    scope.defer(() => provider.close());
    server = await startSigningIn(scope, provider.issuer, { 'oidc-name': 'Example Login' });
    url = server.server.localUrl;
    browser = await openBrowser(scope);
    await server.call('POST', '/people', { body: { Email: 'ada@example.com', Role: 'operator' } });
  });
  beforeEach(() => {
    provider.wrong = {};
  });

  it('leads there and back to the place that was asked for, with nothing of it left in the address', async () => {
    const { page, errors } = await openPage(browser);
    await page.goto(`${url}/inbox?q=hello`);
    await page.getByRole('button', { name: 'Sign in with Example Login' }).click();
    const menu = page.getByRole('button', { name: 'Signed in as ada@example.com' });
    await menu.waitFor();
    expect(page.url()).toBe(`${url}/inbox?q=hello`);
    await menu.click();
    await page.getByRole('menuitem', { name: 'Sessions' }).waitFor();
    // There is no password to change.
    await expect.poll(() => page.getByRole('menuitem', { name: 'Change password' }).count()).toBe(0);
    await page.keyboard.press('Escape');
    await page.goto(`${url}/sign-in`);
    await page.waitForURL(`${url}/overview`);
    expect(errors.filter((one) => !one.includes('status of 401'))).toEqual([]);
  });

  it('says in a sentence why it did not work, and lets one try again', async () => {
    const { page } = await openPage(browser);
    await page.goto(`${url}/queue`);
    const button = page.getByRole('button', { name: 'Sign in with Example Login' });
    provider.wrong = { claims: { email_verified: false } };
    await button.click();
    await page.getByRole('alert').getByText('has not verified your email address').waitFor();
    expect(page.url()).toBe(`${url}/sign-in`);
    provider.wrong = { paths: { '/token': (_, response) => response.writeHead(500).end() } };
    await button.click();
    await page.getByRole('alert').getByText('The identity provider does not answer').waitFor();
    // An address that somebody was sent begins nothing.
    await page.goto(`${url}/sign-in?code=a&state=b`);
    await page.getByRole('alert').getByText('begin again').waitFor();
    await page.getByLabel('Password').waitFor();
  });

  it('is asked for again before what outlives the session, or the password of who has one', async () => {
    const make = async (page: Page): Promise<void> => {
      await page.getByRole('button', { name: 'New token' }).click();
      const dialog = page.getByRole('dialog', { name: 'New token' });
      await dialog.getByLabel('Name', { exact: true }).fill('everything');
      await dialog.getByRole('radio', { name: 'Admin' }).check();
      await dialog.getByRole('button', { name: 'Make the token' }).click();
    };
    const signIn = async (email: string): Promise<Page> => {
      const { page } = await openPage(browser);
      provider.claims = { sub: email, email, email_verified: true };
      await page.goto(`${url}/access`);
      await page.getByRole('button', { name: 'Sign in with Example Login' }).click();
      await page.getByRole('button', { name: `Signed in as ${email}` }).waitFor();
      return page;
    };
    await server.call('POST', '/people', { body: { Email: 'cia@example.com', Role: 'operator' } });
    const without = await signIn('cia@example.com');
    await make(without);
    const again = without.getByRole('dialog', { name: 'Prove that it is you' });
    await again.getByRole('button', { name: 'Sign in again with Example Login' }).click();
    await without.waitForURL(`${url}/access`);
    await make(without);
    await without.getByText('it is not shown again').waitFor();

    const page = await signIn(await addPerson(server, 'dan@example.com'));
    // Whoever signs in while another person is asked is asked, too.
    await server.call('POST', '/people', { body: { Email: 'eva@example.com', Role: 'operator' } });
    const changes = await signIn('eva@example.com');
    await make(changes);
    await changes.getByRole('dialog', { name: 'Prove that it is you' }).waitFor();
    await setHidden(changes, true);
    await changes.context().clearCookies();
    await changes.context().addCookies(await page.context().cookies());
    await setHidden(changes, false);
    await changes.getByRole('button', { name: 'Signed in as dan@example.com' }).waitFor();
    await make(changes);
    await changes.getByRole('dialog', { name: 'Prove that it is you' }).waitFor();

    await make(page);
    const dialog = page.getByRole('dialog', { name: 'Prove that it is you' });
    await dialog.getByLabel('Current password').fill('wrong');
    await page.keyboard.press('Enter');
    await dialog.getByText('The current password is not right').waitFor();
    await dialog.getByLabel('Current password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByText('it is not shown again').waitFor();
  });

  it('is for people whom an operator adds without a password', async () => {
    const { page } = await openPageAs(browser, server, await addPerson(server, 'operator@example.com'));
    await page.goto(`${url}/access?tab=people`);
    await page.getByRole('button', { name: 'Add a person' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Email address').fill('bob@example.com');
    await dialog.getByLabel('Make a password, too').uncheck();
    await dialog.getByLabel('Role').selectOption('operator');
    await dialog.getByRole('button', { name: 'Add' }).click();
    await page.getByText('With Example Login, at').waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByText('without a password').first().waitFor();
  });
});
