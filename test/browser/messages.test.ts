/**
 * The messages in a browser, before a real server and a far end that refuses and delays: finding a message, why it did not
 * arrive, what can be done, by mouse and by keys, on a desktop and on a phone; and texts of others that want to do harm.
 */
import type { Browser, Page } from 'playwright-core';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { fileScope, type Instance, startInstance, until } from '../scenarios/harness.ts';
import { hasBrowser, openBrowser, openPage, PHONE } from './browser.ts';
import { startFarEnd } from './far-end.ts';

const rows = (page: Page) => page.getByRole('list', { name: 'Messages' }).getByRole('link');
const delivery = (page: Page) => page.getByRole('tabpanel', { name: 'Delivery' });

describe.skipIf(!hasBrowser)('the messages', () => {
  const scope = fileScope();
  let server: Instance;
  let browser: Browser;
  let url: string;
  const to = (...names: string[]) => ({ To: names.map((name) => ({ email: `${name}@far.test` })) });

  beforeAll(async () => {
    const far = await startFarEnd();
    scope.defer(() => far.close());
    server = await startInstance(scope, {
      mode: 'dev',
      settings: { route: `smtp://127.0.0.1:${far.port}` },
    });
    await server.call('POST', '/domains', { body: { Domain: 'example.com', Verified: true } });
    browser = await openBrowser(scope);
    url = server.server.localUrl;
  });

  // An open page keeps its streams, of which a token may have ten.
  afterEach(() => Promise.all(browser.contexts().map((context) => context.close())));

  it('takes a date for a day of the reader', async () => {
    const { page } = await openPage(browser, { timezoneId: 'America/New_York' });
    // Between the two the clocks are put back.
    const asked = page.waitForRequest(/\/api\/v1\/email\?.*Since/);
    await page.goto(`${url}/messages?q=since:2026-11-01+until:2026-11-02`);
    const { searchParams } = new URL((await asked).url());
    expect(['Since', 'Until'].map((name) => searchParams.get(name))).toEqual([
      '2026-11-01T04:00:00.000Z',
      '2026-11-02T05:00:00.000Z',
    ]);
  });

  it('says why a message did not arrive, whose fault it is and what was said', async () => {
    await server.send({ ...to('ada'), Subject: 'Arrives' });
    const id = await server.send({ ...to('gone.grace'), Subject: 'Does not arrive' });
    await server.settled(id);
    const { page, errors } = await openPage(browser, { permissions: ['clipboard-read', 'clipboard-write'] });
    await page.goto(`${url}/messages`);
    await page.getByRole('searchbox', { name: 'Search messages' }).fill('gone.grace@far.test');
    await until('one is found', async () => (await rows(page).count()) === 1);
    await rows(page).first().click();
    const finding = delivery(page).getByRole('heading', { name: 'Refused by the receiving server' });
    await finding.waitFor();
    await delivery(page)
      .getByText('The email account that you tried to reach does not exist')
      .first()
      .waitFor();
    await delivery(page).getByText('Attempt 1: refused for good').waitFor();
    await delivery(page).getByText('SMTP conversation').click();
    await delivery(page).getByRole('cell', { name: 'RCPT TO:<gone.grace@far.test>' }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/messages/${id}`);
    await delivery(page).getByRole('button', { name: 'Copy as text what happened to the mail for' }).click();
    await delivery(page).getByRole('button', { name: 'Copied' }).waitFor();
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(copied).toContain(`Bounced: gone.grace@far.test\nFrom: `);
    expect(copied).toContain(`Message id: ${id}`);
    expect(copied).toMatch(/Z Attempt 1: refused for good · .*\n {2}550 5\.1\.1 /);
    expect(errors).toEqual([]);
  });

  it('leads from mail that is held to what holds it', async () => {
    const hold = { SenderDomain: 'example.com', Reason: 'wrong price' };
    await server.call('POST', '/queue/hold', { body: hold });
    const id = await server.send({ ...to('ada'), Subject: 'Held' });
    const { page } = await openPage(browser);
    await page.goto(`${url}/messages/${id}`);
    await delivery(page).getByRole('heading', { name: 'Held back on this server' }).waitFor();
    await delivery(page).getByRole('link', { name: 'Show the holds' }).click();
    await page.getByRole('heading', { name: 'Queue' }).waitFor();
    await page.getByText('wrong price').first().waitFor();
    await server.call('POST', '/queue/release', { body: { SenderDomain: 'example.com' } });
    await server.settled(id);
  });

  it('shows what becomes of a message as it happens', async () => {
    const id = await server.send({
      ...to('ada'),
      Subject: 'Later',
      SendAt: new Date(Date.now() + 3_600_000),
    });
    const { page } = await openPage(browser);
    await page.goto(`${url}/messages/${id}`);
    await delivery(page).getByRole('heading', { name: 'Scheduled for later' }).waitFor();
    await page.getByRole('button', { name: 'Cancel…' }).click();
    await page.getByRole('button', { name: 'Cancel the message' }).click();
    await delivery(page).getByRole('heading', { name: 'Stopped before it was sent' }).waitFor();
    await page.getByRole('button', { name: 'Back to the list' }).click();
    await server.send({ ...to('ada'), Subject: 'Comes while one looks' });
    await rows(page).filter({ hasText: 'Comes while one looks' }).first().waitFor();
  });

  it('tries again, suppresses and lifts it', async () => {
    const id = await server.send({ ...to('later.bob', 'ada'), Subject: 'Two recipients' });
    // There a date ends with a point, which also ends the sentence.
    const { page } = await openPage(browser, { locale: 'de-DE' });
    await page.goto(`${url}/messages/${id}`);
    await delivery(page).getByRole('heading', { name: 'Could not be delivered yet' }).waitFor();
    await delivery(page).getByText('Greylisted').first().waitFor();
    await delivery(page)
      .getByText(/Expires on \d+\. \p{L}+\.$/u)
      .waitFor();
    // Until the answer comes, no other click asks for the same.
    let go = (): void => {};
    const isSlow = new Promise<void>((resolve) => {
      go = resolve;
    });
    await page.route('**/retry', (route) => isSlow.then(() => route.continue()));
    const retry = delivery(page).getByRole('button', { name: 'Retry now' });
    await retry.click();
    await expect.poll(() => retry.isDisabled()).toBe(true);
    go();
    await page.getByText('Queued again for 1 recipient').waitFor();
    await delivery(page).getByText('Attempt 2: not delivered yet').waitFor();
    await page.getByRole('button', { name: 'More about later.bob@far.test' }).click();
    await page.getByRole('menuitem', { name: 'Suppress this address' }).click();
    await until('it is on the list', async () => {
      const { Items } = (await server.call('GET', '/suppressions?Email=later.bob@far.test')).json;
      return Items.length === 1;
    });
    await page.getByRole('button', { name: 'More about later.bob@far.test' }).click();
    await page.getByRole('menuitem', { name: 'Remove from the suppression list' }).click();
    await until('it is off the list', async () => {
      const { Items } = (await server.call('GET', '/suppressions?Email=later.bob@far.test')).json;
      return Items.length === 0;
    });
  });

  it('resends a copy to another address', async () => {
    const id = await server.send({ ...to('gone.mary'), Subject: 'Sent twice' });
    await server.settled(id);
    const { page } = await openPage(browser);
    await page.goto(`${url}/messages/${id}`);
    await page.getByRole('button', { name: 'More about this message' }).click();
    await page.getByRole('menuitem', { name: 'Resend a copy' }).click();
    await page.getByRole('textbox', { name: 'To' }).fill('mary@far.test');
    // A double click sends one copy.
    await page.getByRole('button', { name: 'Resend', exact: true }).dblclick();
    await page.getByText('On its way to mary@far.test as message').waitFor();
    await rows(page).filter({ hasText: 'mary@far.test' }).filter({ hasText: 'Delivered' }).first().waitFor();
    expect((await server.call('GET', '/email?To=mary@far.test')).json.Items).toHaveLength(1);
  });

  it('shows what was sent', async () => {
    const id = await server.send({
      ...to('ada'),
      Subject: 'Looked at',
      ContentType: 'HTML',
      HTMLContent: '<h1>As it looks</h1>',
      PlainContent: 'As it reads',
      Attachments: [{ Content: 'aGVsbG8=', Type: 'text/plain', Filename: 'hello.txt' }],
    });
    const { page, errors } = await openPage(browser);
    await page.goto(`${url}/messages/${id}`);
    await page.getByRole('tab', { name: 'Preview' }).click();
    await page.frameLocator('iframe').getByRole('heading', { name: 'As it looks' }).waitFor();
    await page.getByRole('tab', { name: 'Text' }).click();
    await page.getByText('As it reads').waitFor();
    await page.getByRole('tab', { name: 'Source' }).click();
    await page.getByText('multipart/mixed').waitFor();
    await page.getByRole('tab', { name: 'Attachments' }).click();
    await page.getByText('hello.txt').waitFor();
    await page.getByRole('tab', { name: 'Delivery' }).click();
    expect(errors).toEqual([]);
  });

  it('is used by keys alone: search, walk, open, back', async () => {
    for (const n of [1, 2, 3]) await server.send({ ...to('ada'), Subject: `Walk ${n}`, Tags: ['walk'] });
    const { page } = await openPage(browser);
    await page.goto(`${url}/messages`);
    await rows(page).first().waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('tag:walk');
    await until('it is searched', async () => new URL(page.url()).searchParams.get('q') === 'tag:walk');
    await until('three are found', async () => (await rows(page).count()) === 3);
    await page.keyboard.press('Escape');
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Walk 2' }).waitFor();
    // At the newest one, the key does nothing more.
    await until('the one above is open', async () => {
      await page.keyboard.press('k');
      return page.getByRole('heading', { name: 'Walk 3' }).isVisible();
    });
    await page.keyboard.press('u');
    await page.getByRole('heading', { name: 'Walk 3' }).waitFor({ state: 'detached' });
  });

  it('keeps what is looked for in the address, as chips that can be taken away', async () => {
    const { page } = await openPage(browser);
    await page.goto(`${url}/messages?q=${encodeURIComponent('status:bounced tag:none since:24h')}`);
    await page.getByText('No message matches').waitFor();
    expect(await page.getByRole('link', { name: 'System, Refused' }).getAttribute('href')).toBe(
      '/system?tab=refused',
    );
    await page.getByRole('button', { name: 'Remove tag:none' }).click();
    await rows(page).first().waitFor();
    await page.getByRole('button', { name: 'Bounced' }).click();
    await page.getByRole('menuitem', { name: 'Any status' }).click();
    await until('the address says it', () => new URL(page.url()).searchParams.get('q') === 'since:24h');
    await page.getByRole('searchbox', { name: 'Search messages' }).fill('status:lost');
    await page.getByText('status:lost is not known').waitFor();
    // All typing until Enter is one step, and each choice is one.
    await page.getByRole('searchbox', { name: 'Search messages' }).fill('status:none');
    await page.getByText('status:none is not known').waitFor();
    const asked = () => new URL(page.url()).searchParams.get('q');
    await page.goBack();
    await expect.poll(asked).toBe('since:24h');
    await page.goBack();
    await expect.poll(asked).toBe('status:bounced since:24h');
    await page.goForward();
    await expect
      .poll(() => page.getByRole('searchbox', { name: 'Search messages' }).inputValue())
      .toBe('since:24h');
    // Typing after Back adds a step, and does not replace the one that Back went to.
    await page.getByRole('searchbox', { name: 'Search messages' }).fill('walk');
    // Leaving the field ends the step, also within the pause that a search waits for.
    await page.keyboard.press('Tab');
    await expect.poll(asked).toBe('walk');
    await page.getByRole('searchbox', { name: 'Search messages' }).fill('drive');
    await expect.poll(asked).toBe('drive');
    await page.goBack();
    await expect.poll(asked).toBe('walk');
    await page.goBack();
    await expect.poll(asked).toBe('since:24h');
  });

  it('finds an address from anywhere with Ctrl K, and a message by its id', async () => {
    const id = await server.send({ ...to('gone.hopper'), Subject: 'Asked for' });
    await server.settled(id);
    const { page } = await openPage(browser);
    await page.goto(`${url}/inbox`);
    await page.getByRole('navigation', { name: 'Places' }).first().waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('gone.hopper@far.test');
    await page.keyboard.press('Enter');
    await rows(page).filter({ hasText: 'gone.hopper' }).first().click();
    await delivery(page).getByRole('heading', { name: 'Refused by the receiving server' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type(id);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Asked for' }).waitFor();
    // As a mail program copies it, and as people write it.
    await page.keyboard.press('Control+k');
    await page.keyboard.type('Grace Hopper <Gone.Hopper@FAR.test>');
    await page.getByRole('option', { name: 'Suppressions of Gone.Hopper@FAR.test' }).waitFor();
    await page.getByRole('option', { name: 'Mail to Gone.Hopper@FAR.test' }).click();
    await rows(page).filter({ hasText: 'gone.hopper' }).first().waitFor();
    // The part before the @ is no domain, although it may look like one.
    await page.keyboard.press('Control+k');
    // The line that is typed in stays where it is, however much is found.
    const line = page.getByRole('combobox');
    const before = (await line.boundingBox())?.y;
    await page.keyboard.type('gone.1906');
    expect((await line.boundingBox())?.y).toBe(before);
    expect(await page.getByRole('option').allTextContents()).toEqual([
      'Mail whose subject holds “gone.1906”',
    ]);
    await page.keyboard.press('Enter');
    await page.getByText('A recipient is found by the whole address').waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('far.test');
    await page.getByRole('option', { name: 'Mail that waits for far.test' }).click();
    await page.getByRole('heading', { name: 'far.test' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('far.test');
    await page.keyboard.press('Enter');
    await page.getByText('Only mail from far.test was looked for').waitFor();
    await page.getByRole('link', { name: 'mail to far.test' }).click();
    await rows(page).filter({ hasText: 'gone.hopper' }).first().waitFor();
  });

  it('is one page after the other on a phone, nothing wider than it', async () => {
    const long = 'Donaudampfschifffahrtselektrizitäten'.repeat(5);
    const id = await server.send({
      To: [{ name: long, email: `gone.${'x'.repeat(50)}@far.test` }],
      Subject: `On a phone ${long}`,
      Tags: [long.slice(0, 100)],
      Metadata: { order: long },
    });
    await server.settled(id);
    const { page } = await openPage(browser, { viewport: PHONE, hasTouch: true });
    await page.goto(`${url}/messages?q=phone`);
    await rows(page).first().tap();
    await delivery(page).getByRole('heading', { name: 'Refused by the receiving server' }).waitFor();
    await delivery(page).getByText('SMTP conversation').first().tap();
    await expect.poll(() => rows(page).count()).toBe(0);
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(PHONE.width);
    await page.getByRole('button', { name: 'Back to the list' }).tap();
    await rows(page).first().waitFor();
    // At 400 % zoom the navigation leaves room for the page.
    await page.setViewportSize({ width: 360, height: 225 });
    const places = page.getByRole('navigation', { name: 'Places' });
    expect((await places.boundingBox())?.height).toBeLessThan(40);
    await places.getByRole('link', { name: 'Overview' }).waitFor();
    // A long text that is pasted must not make an address that the server refuses.
    await page.keyboard.press('/');
    await page.keyboard.insertText('\u0416'.repeat(100_000));
    await expect.poll(() => page.url().length).toBeGreaterThan(3_000);
    expect((await page.reload())?.status()).toBe(200);
    await page.getByText('Subject is too long').waitFor();
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(PHONE.width);
  });

  it('shows texts of others as texts', async () => {
    const id = await server.send({
      From: { name: '<img src=x onerror=document.title="ran">', email: 'sender@example.com' },
      To: [{ name: '"><script>document.title="ran"</script>', email: 'hostile@far.test' }],
      Subject: '<script>document.title="ran"</script>\u202Egnp.exe',
      Tags: ['<b>tag</b>'],
      Metadata: { note: 'javascript:document.title="ran"' },
      HTMLContent: '<script>top.document.title="ran"</script><p>Still readable</p>',
      ContentType: 'HTML',
    });
    await server.settled(id);
    const { page, errors, requests } = await openPage(browser);
    await page.goto(`${url}/messages`);
    await rows(page).filter({ hasText: '<script>' }).first().click();
    await delivery(page).getByText('<img src=x onerror=').first().waitFor();
    await page.getByRole('tab', { name: 'Preview' }).click();
    await page.frameLocator('iframe').getByText('Still readable').waitFor();
    expect(await page.title()).not.toBe('ran');
    expect(requests.filter((one) => !one.startsWith(url))).toEqual([]);
    expect(errors.filter((one) => !one.includes('sandboxed'))).toEqual([]);
    await page.getByRole('tab', { name: 'Delivery' }).click();
  });
});
