/** Signing in to the dashboard of a production server, as a person does it, and what ends a session. */
import type { Browser, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { hotp, totpSecretOf, totpStep } from '../../src/lib/totp.ts';
import { addDomain, fileScope, type Instance, startInstance } from '../scenarios/harness.ts';
import { hasBrowser, openBrowser, openPage, PHONE, setHidden } from './browser.ts';
import { addPerson, openPageAs, sessionCookie } from './people-kit.ts';

const ADA = { Email: 'ada@example.com', Password: 'correct horse battery' };

describe.skipIf(!hasBrowser)('signing in', () => {
  const scope = fileScope();
  let server: Instance;
  let browser: Browser;
  let url: string;
  let personId: string;

  beforeAll(async () => {
    server = await startInstance(scope);
    browser = await openBrowser(scope);
    url = server.server.localUrl;
    const added = await server.call('POST', '/people', { body: { ...ADA, Role: 'operator' } });
    personId = added.json.PersonID;
  });

  async function signIn(page: Page, password = ADA.Password, email = ADA.Email): Promise<void> {
    await page.getByLabel('Email address').fill(email);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }

  const menu = (page: Page) => page.getByRole('button', { name: 'Signed in as ada@example.com' });

  it('shows the places after the right password, at the address that was asked for', async () => {
    const { page, errors, requests } = await openPage(browser);
    await page.goto(`${url}/inbox?q=hello`);
    await page.getByRole('heading', { name: 'Sign in to postrider' }).waitFor();
    await expect.poll(() => page.getByRole('navigation').count()).toBe(0);
    await signIn(page, 'a wrong password');
    await page.getByRole('alert').getByText('The email address or the password is not right').waitFor();
    await expect.poll(() => page.getByLabel('Password').inputValue()).toBe('');
    await signIn(page);
    await menu(page).waitFor();
    expect(page.url()).toBe(`${url}/inbox?q=hello`);
    const hidden =
      "((rail) => rail.scrollHeight - rail.clientHeight)(document.querySelector('nav[aria-label=Places]'))";
    for (const height of [800, 660]) {
      await page.setViewportSize({ width: 1280, height });
      expect(await page.evaluate(hidden)).toBe(0);
    }
    await page.reload();
    await menu(page).waitFor();
    expect(await page.evaluate('document.cookie')).toBe('');
    // What a browser writes of an answer that refuses.
    expect(errors.filter((one) => !one.includes('status of 401'))).toEqual([]);
    expect(requests.filter((one) => !one.startsWith(url))).toEqual([]);
  });

  it('asks for no password at an address where none is taken, and names those where one is', async () => {
    const { page } = await openPage(browser);
    await page.goto(url.replace('127.0.0.1', 'mail.localhost'));
    await page.getByRole('alert').getByText('used over https and on the machine of the server').waitFor();
    expect(await page.getByLabel('Password').count()).toBe(0);
  });

  it('is not kept open by a page that nobody touches', async () => {
    const { page } = await openPageAs(browser, server, await addPerson(server, 'away@example.com'));
    await page.clock.install();
    await page.goto(`${url}/overview`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    const next = () =>
      page.waitForRequest((request) => request.headers()['x-postrider-dashboard'] === 'idle');
    const isIdle = next();
    await page.clock.fastForward('06:00');
    await isIdle;
    await page.mouse.move(100, 100);
    const isBack = page.waitForRequest((request) => request.headers()['x-postrider-dashboard'] === '1');
    await page.clock.fastForward('02:00');
    await isBack;
  });

  it('ends by the menu, by hand on a phone, too', async () => {
    for (const viewport of [undefined, PHONE]) {
      const { page } = await openPage(browser, viewport === undefined ? {} : { viewport });
      await page.goto(url);
      await signIn(page);
      const opener =
        viewport === undefined
          ? menu(page)
          : page.getByRole('navigation').getByRole('button', { name: 'More' });
      await opener.click();
      await page.getByRole('menuitem', { name: 'Sign out' }).click();
      await page.getByRole('heading', { name: 'Sign in to postrider' }).waitFor();
      expect(await page.getByText('Your session has ended').count()).toBe(0);
      await page.reload();
      await page.getByRole('heading', { name: 'Sign in to postrider' }).waitFor();
    }
  });

  it('is asked for again when the session was ended in another browser', async () => {
    const [first, second] = await Promise.all([openPage(browser), openPage(browser)]);
    for (const { page } of [first, second]) {
      await page.goto(url);
      await signIn(page);
      await menu(page).waitFor();
    }
    await first.page.getByRole('button', { name: 'Signed in as' }).click();
    await first.page.getByRole('menuitem', { name: 'Sessions' }).click();
    const sessions = first.page.getByRole('dialog', { name: 'Sessions' });
    await sessions.getByText('This one').waitFor();
    const ends = sessions.getByRole('button', { name: 'End' });
    const others = await ends.count();
    await ends.first().click();
    await expect.poll(() => ends.count()).toBe(others - 1);
    await second.page.getByRole('link', { name: 'Suppressions' }).click();
    await second.page.getByRole('heading', { name: 'Sign in to postrider' }).waitFor();
    await second.page.getByText('Your session has ended').waitFor();
  });

  it('keeps what was typed for the same person when the session ends meanwhile, and shows nothing of it before', async () => {
    const bob = await addPerson(server, 'bob@example.com');
    const { page } = await openPageAs(browser, server, bob);
    await page.goto(`${url}/webhooks`);
    await page.getByRole('button', { name: 'New webhook' }).click();
    const address = page.getByLabel('Address', { exact: true });
    const begin = async () => {
      await address.fill('https://hooks.example.com/long');
      await page.context().clearCookies();
      await page.getByLabel('Sender domain').fill('example.com');
      await page.getByRole('button', { name: 'Create' }).click();
      await page.getByText('Your session has ended').waitFor();
    };
    await begin();
    for (let presses = 0; presses < 3; presses += 1) await page.keyboard.press('Escape');
    const cover = page.getByRole('dialog', { name: 'Sign in' });
    expect(await cover.evaluate('document.elementFromPoint(640, 300).closest("dialog").ariaLabel')).toBe(
      'Sign in',
    );
    expect(await cover.boundingBox()).toEqual({ x: 0, y: 0, width: 1280, height: 800 });
    // Paper has no background that hides what is below, and the tab names no message.
    await page.emulateMedia({ media: 'print' });
    for (const below of [page.locator('dialog').first(), page.locator('h1', { hasText: 'Webhooks' })])
      expect(await below.isVisible()).toBe(false);
    await page.emulateMedia({ media: null });
    expect(await page.title()).toBe('Sign in · postrider');
    // The email address need not be typed again.
    expect(await page.getByLabel('Email address').inputValue()).toBe(bob);
    await page.keyboard.type(ADA.Password);
    await page.keyboard.press('Enter');
    await cover.waitFor({ state: 'detached' });
    expect(await address.inputValue()).toBe('https://hooks.example.com/long');
    expect(await page.title()).toBe('Webhooks · postrider');
    await page.getByRole('alert').getByText('the session had ended. Try again').waitFor();
    expect(await page.locator(':focus').textContent()).toBe('Create');
    // Nobody else finds it.
    await begin();
    await signIn(page, ADA.Password, await addPerson(server, 'cleo@example.com'));
    await page.getByRole('button', { name: 'Signed in as cleo@example.com' }).waitFor();
    expect(await address.count()).toBe(0);
  });

  it('asks nothing while somebody has to sign in, and then goes on hearing of new mail', async () => {
    const dan = await addPerson(server, 'dan@example.com');
    await server.call('POST', '/domains', { body: { Domain: 'example.com', Verified: true } });
    await server.send({ Subject: 'Before', Sandbox: true });
    const { page, requests } = await openPageAs(browser, server, dan);
    await page.goto(`${url}/inbox`);
    await page.getByText('Before').waitFor();
    await page.context().clearCookies();
    for (const hidden of [true, false]) await setHidden(page, hidden);
    await page.getByText('Your session has ended').waitFor();
    await expect.poll(() => requests).toContain(`${url}/api/v1/session/provider`);
    const asked = requests.length;
    for (const hidden of [true, false]) await setHidden(page, hidden);
    await page.waitForTimeout(1_500);
    // Whether somebody has signed in in another tab.
    expect(requests.slice(asked)).toEqual([`${url}/api/v1/session`]);
    await signIn(page, ADA.Password, dan);
    await page.getByRole('dialog', { name: 'Sign in' }).waitFor({ state: 'detached' });
    await server.send({ Subject: 'After', Sandbox: true });
    await page.getByText('After').waitFor();
    expect(await page.getByText('The server does not answer').count()).toBe(0);
  });

  it('shows the page to whoever has signed in in another tab', async () => {
    const [eve, fay] = [
      await addPerson(server, 'eve@example.com'),
      await addPerson(server, 'fay@example.com'),
    ];
    const { page } = await openPageAs(browser, server, eve);
    const comeBack = async (email: string | null) => {
      await setHidden(page, true);
      await page.context().clearCookies();
      if (email !== null) await page.context().addCookies([await sessionCookie(server, email)]);
      await setHidden(page, false);
    };
    await page.goto(`${url}/webhooks`);
    await page.getByRole('button', { name: 'New webhook' }).click();
    const address = page.getByLabel('Address', { exact: true });
    await address.fill('https://hooks.example.com/long');
    const cover = page.getByRole('dialog', { name: 'Sign in' });
    await comeBack(null);
    await cover.waitFor();
    await comeBack(eve);
    await cover.waitFor({ state: 'detached' });
    expect(await address.inputValue()).toBe('https://hooks.example.com/long');
    await comeBack(fay);
    await page.getByRole('button', { name: `Signed in as ${fay}` }).waitFor();
    expect(await address.count()).toBe(0);
  });

  it('removes what can still be undone as the person signs out, and never in the session of the next', async () => {
    await addDomain(server, 'removals.example');
    const Items = ['first', 'second'].map((one) => ({ Email: `${one}@example.net` }));
    await server.call('POST', '/suppressions', { body: { Domain: 'removals.example', Items } });
    const listed = async () =>
      (await server.call('GET', '/suppressions?Domain=removals.example')).json.Items.map(
        ({ Email }: { Email: string }) => Email,
      );
    const { page } = await openPage(browser);
    await page.clock.install();
    await page.goto(`${url}/suppressions`);
    await signIn(page);
    await page.getByRole('button', { name: 'Remove first@example.net' }).click();
    await page.getByRole('button', { name: 'Undo' }).waitFor();
    await menu(page).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to postrider' }).waitFor();
    expect(await page.getByRole('button', { name: 'Undo' }).count()).toBe(0);
    expect(await listed()).toEqual(['second@example.net']);
    await signIn(page);
    await page.getByRole('button', { name: 'Remove second@example.net' }).click();
    await page.getByRole('button', { name: 'Undo' }).waitFor();
    const next = await addPerson(server, 'next@example.com');
    await page.context().addCookies([await sessionCookie(server, next)]);
    for (const hidden of [true, false]) await setHidden(page, hidden);
    await page.getByRole('button', { name: 'Signed in as next@example.com' }).waitFor();
    await page.clock.runFor(15_000);
    await page.getByRole('button', { name: 'Remove second@example.net' }).waitFor();
    expect(await listed()).toEqual(['second@example.net']);
  });

  it('offers a viewer no place and no button that would be refused', async () => {
    const Email = 'vera@example.com';
    const added = await server.call('POST', '/people', {
      body: { Email, Password: ADA.Password, Role: 'viewer', Domains: ['*'] },
    });
    expect(added.status, added.text).toBe(201);
    const { page } = await openPage(browser);
    await page.goto(`${url}/overview`);
    await signIn(page, ADA.Password, Email);
    await page.getByText('0 waiting').waitFor();
    const places = page.getByRole('navigation').first().getByRole('listitem');
    await expect
      .poll(() => places.allTextContents())
      .toEqual([
        'Inbox',
        'Messages',
        'Overview',
        'Domains',
        'Webhooks',
        'Suppressions',
        'Templates',
        'Access',
        'System',
      ]);
    await expect.poll(() => page.getByRole('link', { name: '0 waiting' }).count()).toBe(0);
    await server.call('POST', '/domains', { body: { Domain: 'example.com', Verified: true } });
    await server.send({ Subject: 'Not to be deleted', Sandbox: true });
    await places.first().getByRole('link').click();
    await page.getByRole('button', { name: 'Keys' }).waitFor();
    await expect.poll(() => page.getByRole('button', { name: 'More', exact: true }).count()).toBe(0);
    await page.getByRole('link', { name: 'Not to be deleted' }).click();
    await page.getByRole('button', { name: 'Mark as unread' }).waitFor();
    for (const key of ['x', '#']) await page.keyboard.press(key);
    await page.getByText('1 selected').waitFor();
    for (const name of ['Delete', 'Release…'])
      await expect.poll(() => page.getByRole('button', { name }).count(), { message: name }).toBe(0);
  });

  it('asks for a code once the second factor is on, and takes a recovery code for it', async () => {
    const Email = 'cia@example.com';
    await server.call('POST', '/people', { body: { Email, Password: ADA.Password, Role: 'operator' } });
    const { page } = await openPage(browser);
    await page.goto(url);
    await signIn(page, ADA.Password, Email);
    const open = async () => {
      await page.getByRole('button', { name: `Signed in as ${Email}` }).click();
      await page.getByRole('menuitem', { name: 'Second factor' }).click();
    };
    await open();
    const dialog = page.getByRole('dialog', { name: 'Second factor' });
    await dialog.getByRole('img', { name: 'QR code of the secret' }).waitFor();
    const secret = totpSecretOf((await dialog.locator('pre').textContent()) ?? '') ?? new Uint8Array();
    await dialog.getByLabel('Current password').fill(ADA.Password);
    await dialog.getByRole('textbox', { name: 'Code' }).fill(hotp(secret, totpStep(Date.now())));
    await dialog.getByRole('button', { name: 'Switch on' }).click();
    await dialog.getByText('They are not shown again').waitFor();
    await page.keyboard.press('Escape');
    const [first = '', second = ''] = ((await dialog.locator('pre').textContent()) ?? '').split('\n');
    await dialog.getByRole('button', { name: 'I have kept them' }).click();
    await page.getByRole('button', { name: `Signed in as ${Email}` }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();

    await signIn(page, ADA.Password, Email);
    await page.getByRole('textbox', { name: 'Code' }).fill('000000');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('The code is not right').waitFor();
    await expect.poll(() => page.getByRole('textbox', { name: 'Code' }).inputValue()).toBe('');
    await page.getByRole('textbox', { name: 'Code' }).fill(first);
    await page.getByRole('button', { name: 'Sign in' }).click();

    await open();
    await dialog.getByLabel('Current password').fill(ADA.Password);
    await dialog.getByRole('textbox', { name: 'Code' }).fill(second);
    await dialog.getByRole('button', { name: 'Switch off' }).click();
    await page.getByText('The second factor is off').waitFor();
  });

  it('leads people without a second factor to it where the server requires one, and nowhere else before', async () => {
    const strict = await startInstance(scope, { settings: { 'require-totp': 'on' } });
    await strict.call('POST', '/people', { body: { ...ADA, Role: 'operator' } });
    const { page } = await openPage(browser);
    await page.goto(`${strict.server.localUrl}/queue`);
    await signIn(page);
    await page.getByRole('heading', { name: 'Set up the second factor' }).waitFor();
    await expect.poll(() => page.getByRole('navigation').count()).toBe(0);
    await page.getByRole('img', { name: 'QR code of the secret' }).waitFor();
    const secret = totpSecretOf((await page.locator('pre').textContent()) ?? '') ?? new Uint8Array();
    await page.getByLabel('Current password').fill(ADA.Password);
    await page.getByRole('textbox', { name: 'Code' }).fill(hotp(secret, totpStep(Date.now())));
    await page.getByRole('button', { name: 'Switch on' }).click();
    await page.getByRole('button', { name: 'I have kept them' }).click();
    await menu(page).waitFor();
    expect(page.url()).toBe(`${strict.server.localUrl}/queue`);
  });

  it('goes on with a changed password, and ends when an operator disables the person', async () => {
    const { page } = await openPage(browser);
    await page.goto(url);
    await signIn(page);
    await menu(page).click();
    await page.getByRole('menuitem', { name: 'Change password' }).click();
    const dialog = page.getByRole('dialog', { name: 'Change password' });
    await dialog.getByLabel('Current password').fill(ADA.Password);
    await dialog.getByLabel('New password').fill('a longer and better one');
    await dialog.getByRole('button', { name: 'Change password' }).click();
    await page.getByText('The password is changed').waitFor();
    await dialog.waitFor({ state: 'detached' });
    const disabled = await server.call('PATCH', `/people/${personId}`, { body: { Disabled: true } });
    expect(disabled.status).toBe(200);
    // The page asks for something: no reload is needed.
    await menu(page).click();
    await page.getByRole('menuitem', { name: 'Sessions' }).click();
    await page.getByRole('heading', { name: 'Sign in to postrider' }).waitFor();
  });
});
