/**
 * The overview in a browser, before a real server and receivers that refuse: what is wrong comes first, with the button that
 * helps; the first steps are ticked by facts; the charts follow the address. On a desktop and on a phone.
 */
import type { Browser } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import type { StatsAnswer } from '../../src/client/api-types.ts';
import { fileScope, until } from '../scenarios/harness.ts';
import { hasBrowser, openBrowser, openPage, PHONE, setHidden } from './browser.ts';
import { type OperatorWorld, openOperatorWorld } from './operator-kit.ts';

describe.skipIf(!hasBrowser)('the overview', () => {
  const scope = fileScope();
  let world: OperatorWorld;
  let browser: Browser;
  let url: string;

  beforeAll(async () => {
    world = await openOperatorWorld(scope, '127.83');
    browser = await openBrowser(scope);
    url = `${world.server.server.localUrl}/overview`;
  });
  const send = (to: string) => world.server.send({ To: [{ email: to }] });

  it('says that nothing is wrong, and what comes next', async () => {
    const { page, errors, requests } = await openPage(browser);
    await page.goto(url);
    await page.getByText('Nothing is known to need attention').waitFor();
    await page.locator('h1:focus', { hasText: 'Overview' }).waitFor();
    const steps = page.getByRole('listitem').filter({ has: page.getByLabel(/^(Done|Not done)$/) });
    await steps.first().waitFor();
    const ticked = async (name: string) =>
      steps.filter({ hasText: name }).getByLabel('Done', { exact: true }).count();
    expect(await ticked('Its DNS records are verified')).toBe(1);
    expect(await ticked('The first mail is delivered')).toBe(0);
    expect(await ticked('A server that sends')).toBe(1);
    await page.getByText(`postrider --data ${world.server.folder} send`).waitFor();
    await page.getByText('Nothing was sent in the last 24 hours').waitFor();
    await world.server.settled(await send('a@example.net'));
    await page.reload();
    // With the last step all of them are gone.
    await page.getByRole('slider', { name: 'Delivered in the last 24 hours: 1' }).waitFor();
    await expect.poll(() => steps.count()).toBe(0);
    expect(errors).toEqual([]);
    expect(requests.filter((one) => !one.startsWith(world.server.server.localUrl))).toEqual([]);
  });

  it('says at once why there are no figures, and asks again when the server says', async () => {
    const { page } = await openPage(browser);
    let asked = 0;
    await page.clock.install();
    await page.route('**/api/v1/stats?*', (route) => {
      if (route.request().url().includes('GroupBy=Provider')) asked += 1;
      return route.fulfill({
        status: 503,
        headers: { 'retry-after': '300', 'content-type': 'application/problem+json' },
        body: JSON.stringify({ detail: 'Events are being counted: 3.2 of 12.0 million so far' }),
      });
    });
    await page.goto(url);
    await page.getByText('3.2 of 12.0 million so far').waitFor();
    const first = asked;
    await page.clock.runFor(200_000);
    expect(asked).toBe(first);
    // While they are asked for again, the reason stays.
    await page.route('**/api/v1/stats?*', () => undefined);
    await page.clock.runFor(120_000);
    await page.getByText('3.2 of 12.0 million so far').waitFor();
  });

  it('shows what was sent over time, in the range of the address', async () => {
    const { page } = await openPage(browser);
    await page.goto(url);
    await page
      .getByRole('slider', { name: 'Delivered in the last 24 hours: 1' })
      .hover({ position: { x: 2, y: 20 } });
    // The height of the tallest bar has its number.
    await page.getByText('up to 1', { exact: true }).first().waitFor();
    await page.getByRole('rowheader', { name: 'example.net' }).waitFor();
    await page.getByRole('rowheader', { name: 'example.com' }).waitFor();
    await page.getByRole('link', { name: 'example.com', exact: true }).waitFor();
    await page.getByText(/^Of what was delivered, half took at most/).waitFor();
    await page.getByRole('radio', { name: 'Week' }).click();
    await page.getByRole('slider', { name: 'Delivered in the last 7 days: 1' }).waitFor();
    expect(page.url()).toBe(`${url}?range=7d`);
    await page.mouse.move(0, 0);
    // The keyboard goes to the bars, too. Each is said with what time it counts.
    const bars = page.getByRole('slider', { name: 'Delivered in the last 7 days: 1' });
    await bars.focus();
    for (const key of ['End', 'ArrowLeft', 'ArrowLeft', 'ArrowRight']) await page.keyboard.press(key);
    await expect.poll(() => bars.getAttribute('aria-valuenow')).toBe('26');
    expect(await bars.getAttribute('aria-valuetext')).toMatch(/^[01], [A-Z][a-z]+ \d+, .* \+ 6 h$/);
    await expect.poll(() => page.getByText(/ \+ 6 h$/).count()).toBe(7);
    await bars.blur();
    await page.getByRole('link', { name: 'Delivered in the last 7 days: 1' }).click();
    await page.getByRole('list', { name: 'Messages' }).getByText('a@example.net').waitFor();
    expect(new URL(page.url()).searchParams.get('q')).toBe('status:delivered since:7d');
  });

  it('tells how the mail of one domain went: by tag, what was given up, who complained and unsubscribed', async () => {
    const sent = await world.server.send({ To: [{ email: 'b@example.net' }], Tags: ['last night'] });
    await world.server.settled(sent);
    const { page } = await openPage(browser);
    await page.route('**/api/v1/stats?*GroupBy=Provider*', async (route) => {
      const response = await route.fetch();
      const answer = (await response.json()) as StatsAnswer;
      const [one] = answer.Items;
      const Items = [
        { ...one, Counts: { ...one?.Counts, Failed: 77 } },
        { ...one, Group: 'group.example', IsProvider: true },
      ];
      await route.fulfill({ response, json: { ...answer, Items } });
    });
    await page.goto(`${url}?range=7d`);
    await page.getByRole('link', { name: 'example.com', exact: true }).click();
    await page.getByRole('heading', { name: 'Sent mail from example.com' }).waitFor();
    expect(page.url()).toBe(`${url}?range=7d&domain=example.com`);
    for (const kind of ['Bounced', 'Failed', 'Complained', 'Unsubscribed'])
      await page.getByRole('slider', { name: `${kind} in the last 7 days: 0` }).waitFor();
    expect(
      await page
        .getByRole('table', { name: 'Receiving providers' })
        .getByRole('columnheader')
        .allInnerTexts(),
    ).toEqual([
      ...['Provider or domain', 'Delivered', 'Delivery rate', 'Bounced', 'Failed', 'Complained'],
      'Unsubscribed',
    ]);
    await page.getByRole('cell', { name: '77', exact: true }).waitFor();
    expect(await page.getByRole('table', { name: 'Receiving providers' }).getByRole('link').count()).toBe(1);
    await page.getByRole('link', { name: /^Delivered to example\.net: \d$/ }).click();
    await page.getByRole('list', { name: 'Messages' }).getByText('b@example.net').waitFor();
    expect(new URL(page.url()).searchParams.get('q')).toBe(
      'status:delivered @example.net domain:example.com since:7d',
    );
    // An answer that is being changed as the page is closed fails.
    await page.unrouteAll({ behavior: 'wait' });
    await page.goBack();
    const tags = page.getByRole('table', { name: 'Tags' });
    expect(await tags.getByRole('row').filter({ hasText: 'last night' }).innerText()).toMatch(/1\s+100%/);
    const untagged = tags.getByRole('rowheader', { name: 'without a tag' });
    expect([await untagged.count(), await untagged.getByRole('link').count()]).toEqual([1, 0]);
    await page.getByRole('radio', { name: 'Month' }).click();
    await page.getByRole('slider', { name: 'Accepted in the last 30 days: 2' }).waitFor();
    await tags.getByRole('link', { name: 'last night' }).click();
    await page.getByRole('list', { name: 'Messages' }).getByText('b@example.net').waitFor();
    expect(new URL(page.url()).searchParams.get('q')).toBe('tag:"last night" domain:example.com since:30d');
    await page.goBack();
    await page.getByRole('link', { name: 'All domains' }).click();
    await page.getByRole('table', { name: 'Sender domains' }).waitFor();
    expect(page.url()).toBe(`${url}?range=30d`);
  });

  it('names the provider that takes mail for a domain', async () => {
    await world.server.settled(await send('a@consumer.example'));
    const { page } = await openPage(browser);
    await page.goto(url);
    const names = page.getByRole('rowheader');
    await until('the provider is stored', async () => {
      await page.reload();
      await names.first().waitFor();
      return (await names.allInnerTexts()).includes('outlook');
    });
    expect(await names.allInnerTexts()).toEqual(['example.net', 'outlook', 'example.com']);
  });

  it('puts a closed site first, with the button that tries it', async () => {
    await send('a@closed.example');
    const { page } = await openPage(browser);
    await page.goto(url);
    const list = page.getByRole('list', { name: 'What needs attention' });
    const item = list.getByRole('listitem').filter({ hasText: 'Too many connections' });
    await item.getByText('1 recipient waiting').waitFor();
    await expect.poll(() => item.getByLabel('Warning').count()).toBe(1);
    await item.getByRole('link', { name: 'Show the site' }).click();
    await page.getByRole('heading', { name: 'closed.example' }).waitFor();
    await page.goBack();
    world.mend();
    await item.getByRole('button', { name: 'Try now' }).click();
    await page.getByText('Try now: done').waitFor();
    await until('the mail is gone', async () => {
      const { Items } = (await world.server.call('GET', '/attention')).json;
      // Absent where it was asked too often.
      return Items?.length === 0;
    });
  });

  it('releases a hold after ten seconds of doubt, and shows it again where that was undone', async () => {
    await world.server.call('POST', '/queue/hold', {
      body: { SenderDomain: 'example.com', Reason: 'wrong price' },
    });
    const { page } = await openPage(browser);
    await page.goto(url);
    const list = page.getByRole('list', { name: 'What needs attention' });
    await list.getByRole('link', { name: 'Show the holds' }).click();
    await expect.poll(() => page.url()).toContain('/queue?view=holds');
    await page.goBack();
    await list.getByRole('button', { name: 'Release', exact: true }).click();
    await page.getByText('Nothing is known to need attention').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await list.getByText('wrong price').waitFor();
    expect((await world.server.call('GET', '/queue/holds')).json.Items).toHaveLength(1);
    await page.goto(`${url}?range=30d`);
    await list.getByText('wrong price').waitFor();
  });

  it('shows the first of each kind, and the others when asked', async () => {
    for (let n = 1; n <= 4; n += 1) {
      const hold = { RecipientDomain: `held${n}.example`, Reason: 'looked into' };
      await world.server.call('POST', '/queue/hold', { body: hold });
    }
    const { page } = await openPage(browser);
    await page.goto(url);
    const items = page.getByRole('list', { name: 'What needs attention' }).getByRole('listitem');
    const others = page.getByRole('button', { name: /^Show [0-9]+ more of the same kind$/ });
    await others.waitFor();
    expect(await items.count()).toBe(3);
    await others.click();
    await expect.poll(() => items.count()).toBeGreaterThan(4);
    const fewer = page.getByRole('button', { name: 'Show fewer' });
    // Its words say what it does: a state beside them would say the opposite.
    expect(await fewer.getAttribute('aria-expanded')).toBe(null);
    await fewer.click();
    await expect.poll(() => items.count()).toBe(3);
    for (let n = 1; n <= 4; n += 1)
      await world.server.call('POST', '/queue/release', { body: { RecipientDomain: `held${n}.example` } });
  });

  it('shows everything that is wrong with the server', async () => {
    const { page } = await openPage(browser);
    await page.route('**/api/v1/attention*', async (route) => {
      const nothingElse = { Since: null, Until: null, Waiting: null, Action: null, Command: null };
      const item = {
        Kind: 'server',
        Severity: 'Failing',
        Message: 'It fails.',
        Fix: 'Mend it (key `route`).',
        ...nothingElse,
      };
      const Items = ['disk', 'clock', 'https', 'returns'].map((Subject) => ({ ...item, Subject }));
      const answer = await route.fetch();
      await route.fulfill({ json: { ...((await answer.json()) as object), Items } });
    });
    await page.goto(url);
    const items = page.getByRole('list', { name: 'What needs attention' }).getByRole('listitem');
    await expect.poll(() => items.count()).toBe(4);
    // What a sentence names is set apart, without backticks.
    expect(await items.first().locator('code').textContent()).toBe('route');
    expect(await items.first().textContent()).toContain('Mend it (key route).');
  });

  it('is read on a phone without scrolling sideways', async () => {
    const { page, errors } = await openPage(browser, { viewport: PHONE, hasTouch: true });
    await page.goto(url);
    await page.getByText('wrong price').waitFor();
    await page.getByRole('heading', { name: 'Sender domains' }).waitFor();
    expect(await page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth')).toBe(false);
    expect(errors).toEqual([]);
  });

  it('asks nothing while it is hidden', async () => {
    const { page, requests } = await openPage(browser);
    await page.clock.install();
    await page.goto(url);
    await page.getByText('wrong price').waitFor();
    const asked = () => requests.filter((one) => one.endsWith('/attention')).length;
    await setHidden(page, true);
    const before = asked();
    await page.clock.fastForward('05:00');
    expect(asked()).toBe(before);
    await setHidden(page, false);
    await until('it asks when it is shown', async () => asked() > before);
  });
});
