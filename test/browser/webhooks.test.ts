/**
 * The webhooks in a browser, before a real server and a receiver that takes calls, refuses them with a hostile page, or hangs: one
 * is made and its secret shown once, its calls unfold, a test shows its answer, calls are repeated, it is disabled, changed and
 * deleted; a viewer only looks. On a desktop and on a phone.
 */
import type { Browser, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { fileScope, type Instance, startInstance, until } from '../scenarios/harness.ts';
import { hasBrowser, openBrowser, openPage, PHONE } from './browser.ts';
import { signedIn } from './people-kit.ts';
import { type Receiver, startReceiver } from './receiver.ts';

describe.skipIf(!hasBrowser)('the webhooks', () => {
  const scope = fileScope();
  let server: Instance;
  let receiver: Receiver;
  let browser: Browser;
  let url: string;

  beforeAll(async () => {
    receiver = await startReceiver(scope);
    server = await startInstance(scope, { mode: 'dev', settings: { 'log-level': 'error' } });
    await server.call('POST', '/domains', { body: { Domain: 'example.com', Verified: true } });
    browser = await openBrowser(scope);
    url = `${server.server.localUrl}/webhooks`;
  });

  const make = async (path: string): Promise<number> => {
    const body = { WebhookURL: receiver.url + path, Events: ['accept'], Domain: 'example.com' };
    return (await server.call('POST', '/webhooks', { body })).json.NewWebhookID;
  };
  const wide = (page: Page) => page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth');
  const standing = (page: Page) => page.getByRole('status', { name: 'How it stands' });
  const more = async (page: Page, name: string) => {
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('menuitem', { name }).click();
  };
  let works: number;

  it('makes the first one, with its secret shown once, and unfolds its calls', async () => {
    const { page, errors } = await openPage(browser);
    await page.goto(url);
    await page.getByText('No webhooks yet').waitFor();
    await page.getByRole('button', { name: 'New webhook' }).click();
    await page.getByLabel('Address').fill('http://127.0.0.1:0/');
    await page.getByLabel('Sender domain').selectOption('example.com');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('alert').first().waitFor();
    await page.getByLabel('Address').fill(`${receiver.url}/works`);
    await page.getByLabel('All events').uncheck();
    await page.getByLabel('Accepted').check();
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByText(/^whsec_/).waitFor();
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await standing(page).getByText('Not called yet').waitFor();
    works = Number(page.url().split('/').at(-1));
    await expect.poll(() => page.getByText(/^whsec_/).count()).toBe(0);

    await page.getByRole('button', { name: 'Send a test' }).click();
    const answer = page.getByRole('status', { name: 'Answer to the test' });
    await answer.getByText('Answered 200').waitFor();
    await answer.getByText('thanks').waitFor();

    const message = await server.send({ To: [{ email: 'ann@example.net' }] });
    await until('the call is taken', () => receiver.taken.some((body) => body.includes(message)));
    await page.reload();
    const call = page.getByRole('list', { name: 'Calls' }).getByRole('listitem').first();
    await call.getByText('Taken').waitFor();
    await call.getByText('ann@example.net').waitFor();
    await call.locator('summary').click();
    const link = call.getByRole('link', { name: 'show the message' });
    expect(await link.getAttribute('href')).toBe(`/messages/${message}`);
    await call.getByText(`"MessageID": "${message}"`).waitFor();
    const before = receiver.taken.length;
    await call.getByRole('button', { name: 'Call again' }).click();
    await until('it is called again', () => receiver.taken.length > before);
    await page.getByText('timingSafeEqual').first().waitFor();
    // The address that was refused.
    expect(errors.filter((one) => !one.includes('status of 422'))).toEqual([]);
  });

  it('shows the answers of a hostile receiver as text, and repeats failed calls once it is mended', async () => {
    const id = await make('/broken');
    const { page, errors, requests } = await openPage(browser);
    await page.clock.install();
    await page.goto(`${url}/${id}`);
    await page.getByRole('button', { name: 'Send a test' }).click();
    const answer = page.getByRole('status', { name: 'Answer to the test' });
    await answer.getByText('Answered 500').waitFor();
    await answer.getByText('<script>document.title').waitFor();
    await server.send({ To: [{ email: 'bob@example.net' }] });
    await until('the call has failed', async () => {
      const { FailingSince } = (await server.call('GET', `/webhooks/${id}`)).json;
      return FailingSince !== null;
    });
    await page.clock.runFor(10_000);
    await standing(page).getByText('Failing').waitFor();
    await page
      .getByRole('definition')
      .filter({ hasText: /^500 after \d+ ms, / })
      .waitFor();
    await page.getByText('\ufffd␛[31mgpj.exe').first().waitFor();
    expect(await page.title()).not.toBe('taken over');
    await expect.poll(() => page.getByRole('button', { name: 'Sign in' }).count()).toBe(0);
    expect(requests.filter((one) => !one.startsWith(server.server.localUrl))).toEqual([]);
    expect(await wide(page)).toBe(false);

    receiver.mend();
    await more(page, 'Make waiting calls now');
    await until('the call was taken', async () => {
      const { FailingSince } = (await server.call('GET', `/webhooks/${id}`)).json;
      return FailingSince === null;
    });
    await page.clock.runFor(10_000);
    await standing(page).getByText('Works').waitFor();
    await more(page, 'Disable');
    await standing(page).getByText('Disabled', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Enable' }).click();
    await standing(page).getByText('Works').waitFor();
    await more(page, 'Replay calls…');
    await page.getByLabel('Only calls that failed').uncheck();
    await page.getByLabel('From').fill('2020-01-01T00:00');
    await page.getByRole('button', { name: 'Replay', exact: true }).click();
    await page.getByText(/calls? (?:is|are) made again/).waitFor();
    expect(errors).toEqual([]);
  });

  it('waits for a receiver that hangs, and says so', async () => {
    const id = await make('/hangs');
    const { page } = await openPage(browser);
    await page.goto(`${url}/${id}`);
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText('It has 15 seconds to answer').waitFor();
    const answer = page.getByRole('status', { name: 'Answer to the test' }).getByText('No answer after');
    await until('it is said', () => {
      // A call over a connection that was used before is made once more.
      receiver.drop();
      return answer.isVisible();
    });
  });

  it('rotates the secret, changes and deletes, with a way back', async () => {
    const { page } = await openPage(browser);
    await page.goto(`${url}/${works}`);
    await more(page, 'Rotate the secret…');
    await page.getByRole('button', { name: 'Rotate', exact: true }).click();
    await page.getByText(/^whsec_/).waitFor();
    await page.getByText('signed with the old secret too until').waitFor();
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await more(page, 'Change…');
    await page.getByLabel('Description').fill('the shop');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('the shop').waitFor();
    await more(page, 'Delete');
    const link = page.getByRole('link', { name: `${receiver.url}/works` });
    await page.getByRole('link', { name: `${receiver.url}/broken` }).waitFor();
    await expect.poll(() => link.count()).toBe(0);
    await page.getByRole('button', { name: 'Undo' }).click();
    await link.click();
    await more(page, 'Delete');
    await page.getByRole('link', { name: `${receiver.url}/broken` }).waitFor();
    // Whoever leaves the page means it.
    await page.goto('about:blank');
    await until('it is gone', async () => (await server.call('GET', `/webhooks/${works}`)).status === 404);
  });

  it('shows first those that fail, and finds by what it shows', async () => {
    const { page } = await openPage(browser);
    await page.goto(url);
    const rows = page.getByRole('table', { name: 'Webhooks' }).getByRole('row');
    await rows.nth(1).getByText('/broken').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('HANGS example.com');
    await expect.poll(() => rows.count()).toBe(2);
    await rows.nth(1).getByText('/hangs').waitFor();
    expect(new URL(page.url()).searchParams.get('q')).toBe('HANGS example.com');
    await page.keyboard.type('x');
    await page.getByRole('button', { name: 'Show all webhooks' }).click();
    await expect.poll(() => rows.count()).toBeGreaterThan(2);
  });

  it('is read on a phone without scrolling sideways', async () => {
    await make(`/works/${'a-long-path-of-an-application/'.repeat(12)}`);
    const { page, errors } = await openPage(browser, { viewport: PHONE, hasTouch: true });
    await page.goto(url);
    const list = page.getByRole('list', { name: 'Webhooks' });
    await list.getByText('Works').first().waitFor();
    expect(await wide(page)).toBe(false);
    await list.getByRole('link', { name: /broken$/ }).click();
    await standing(page).waitFor();
    await page.getByRole('list', { name: 'Calls' }).locator('summary').first().click();
    await page.getByText('webhook-id: evt_').first().waitFor();
    expect(await wide(page)).toBe(false);
    expect(errors).toEqual([]);
  });

  it('shows a viewer no button that is refused', async () => {
    const serving = await startInstance(scope, { settings: { 'allow-networks': '127.0.0.0/8' } });
    await serving.call('POST', '/domains', { body: { Domain: 'example.com', Verified: true } });
    const body = { WebhookURL: `${receiver.url}/works`, Event: 'all', Domain: 'example.com' };
    const { NewWebhookID } = (await serving.call('POST', '/webhooks', { body })).json;
    const viewer = await signedIn(serving, { Role: 'viewer', Domains: ['example.com'] });
    const { page, errors } = await openPage(browser, viewer);
    await page.goto(`${serving.server.localUrl}/webhooks`);
    await page.getByRole('link', { name: body.WebhookURL }).waitFor();
    await expect.poll(() => page.getByRole('button', { name: 'New webhook' }).count()).toBe(0);
    await page.goto(`${serving.server.localUrl}/webhooks/${NewWebhookID}`);
    await standing(page).waitFor();
    for (const name of ['Send a test', 'More', 'Enable'])
      await expect
        .poll(() => page.getByRole('button', { name, exact: true }).count(), { message: name })
        .toBe(0);
    expect(errors).toEqual([]);
  });
});
