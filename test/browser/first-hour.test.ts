/**
 * A person's first hour, in a browser and a terminal: mail is captured, the server gets a relay and a sign-in, the first steps
 * lead to a verified domain, real mail is sent, and a bounce is found, explained, suppressed and sent again. Nothing but what the
 * pages show is used to go on.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { createFakeDns, type FakeDns } from '../fakes/fake-dns.ts';
import {
  fileScope,
  type Instance,
  makeToken,
  startInstance,
  temporaryFolder,
  until,
} from '../scenarios/harness.ts';
import { hasBrowser, openBrowser, openPage } from './browser.ts';
import { startFarEnd } from './far-end.ts';
import { signedIn } from './people-kit.ts';

const run = promisify(execFile);

describe.skipIf(!hasBrowser)('the first hour', () => {
  const scope = fileScope();
  let browser: Browser;
  let folder: string;
  let dns: FakeDns;

  beforeAll(async () => {
    browser = await openBrowser(scope);
    folder = await temporaryFolder(scope);
    dns = await createFakeDns({
      'shop.example': { NS: ['ns.shop.example'], MX: ['mx.shop.example'] },
      'ns.shop.example': { A: ['127.0.0.1'] },
    });
    scope.defer(() => dns.close());
  });

  /** As a person at a terminal sends. */
  const curl = async ({ server }: Instance, token: string, mail: object) => {
    const { stdout } = await run('curl', [
      ...['-sS', `${server.localUrl}/api/v1/email`, '-H', `Authorization: Bearer ${token}`],
      ...['-H', 'Content-Type: application/json', '-d', JSON.stringify(mail)],
    ]);
    return JSON.parse(stdout) as { MessageID?: string };
  };
  const step = (page: Page, name: string) => page.getByRole('listitem').filter({ hasText: name });
  const done = (page: Page, name: string) =>
    step(page, name).getByLabel('Done', { exact: true }).first().waitFor();

  it('begins with a captured mail', async () => {
    const dev = await startInstance(scope, { mode: 'dev', folder });
    const { page } = await openPage(browser);
    await page.goto(dev.server.localUrl);
    await page.getByText('Send the first mail').waitFor();
    await curl(dev, dev.token, mail('me@example.com', ['you@example.net'], 'It works'));
    await page.getByRole('link', { name: 'It works' }).click();
    await page.frameLocator('iframe').getByRole('heading', { name: 'Hello' }).waitFor();
    await dev.stop();
  });

  it('goes on to real mail, a bounce, its reason, and what is done about it', async () => {
    const far = await startFarEnd();
    scope.defer(() => far.close());
    const server = await startInstance(scope, {
      folder,
      settings: { route: `smtp://127.0.0.1:${far.port}`, dns: dns.text, 'allow-networks': '127.0.0.0/8' },
      trust: { ca: [], mtaStsPort: 1, zonePort: dns.server.port },
    });
    const { page, errors } = await openPage(browser, await signedIn(server));
    await page.goto(`${server.server.localUrl}/overview`);
    await done(page, 'A server that sends');
    await step(page, 'A sender domain').getByText('creates its DKIM keys').waitFor();

    await page.getByRole('link', { name: 'Domains' }).click();
    await page.getByRole('button', { name: 'Add a domain' }).click();
    await page.getByRole('dialog').getByLabel('Domain', { exact: true }).fill('shop.example');
    await page.getByRole('dialog').getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('heading', { name: 'shop.example', level: 1 }).waitFor();
    const { DnsRecords } = (await server.call('GET', '/domains/shop.example')).json;
    for (const { Type, Host, Value } of DnsRecords)
      if (Type === 'TXT')
        dns.set(Host, { ...(Host === 'shop.example' ? { MX: ['mx.shop.example'] } : {}), TXT: [Value] });
    await page.getByRole('button', { name: 'Check now' }).click();
    const standing = page.getByRole('status', { name: 'How it stands' });
    await standing.getByText('Verified').waitFor({ timeout: 45_000 });

    const token = await makeToken(server, { Domains: ['shop.example'], Preset: 'Send' });
    const sent = await curl(
      server,
      token,
      mail('shop@shop.example', ['ada@far.test', 'gone.grace@far.test'], 'Order 1'),
    );
    await server.settled(sent.MessageID ?? '');
    await page.getByRole('link', { name: 'Overview' }).click();
    await until('the steps are done', async () => {
      await page.reload();
      await page.getByRole('heading', { name: 'Sent mail' }).waitFor();
      return page.evaluate<boolean>("localStorage.getItem('postrider.first-run') === 'done'");
    });

    await page.keyboard.press('Control+k');
    await page.keyboard.type('gone.grace@far.test');
    await page.keyboard.press('Enter');
    await page.getByRole('list', { name: 'Messages' }).getByRole('link').first().click();
    const delivery = page.getByRole('tabpanel', { name: 'Delivery' });
    await delivery.getByRole('heading', { name: 'Refused by the receiving server' }).waitFor();
    await delivery.getByText('The email account that you tried to reach does not exist').first().waitFor();
    await page.getByRole('button', { name: 'More about gone.grace@far.test' }).click();
    await page.getByRole('menuitem', { name: 'Suppress this address' }).click();
    await until('nothing more is sent there', async () => {
      const { Items } = (await server.call('GET', '/suppressions?Email=gone.grace@far.test')).json;
      return Items.some(({ Reason }: { Reason: string }) => Reason === 'Manual');
    });
    await page.getByRole('button', { name: 'More about this message' }).click();
    await page.getByRole('menuitem', { name: 'Resend a copy' }).click();
    await page.getByRole('textbox', { name: 'To' }).fill('grace@far.test');
    await page.getByRole('button', { name: 'Resend', exact: true }).click();
    await page.getByText('On its way to grace@far.test as message').waitFor();
    await until('the copy arrived', async () => {
      const { Items } = (await server.call('GET', '/email?To=grace@far.test&Status=Delivered')).json;
      return Items.some((one: { To: { Email: string }[] }) =>
        one.To.some(({ Email }) => Email === 'grace@far.test'),
      );
    });
    expect(errors.filter((one) => !/status of 429/.test(one))).toEqual([]);
  });
});

function mail(from: string, to: readonly string[], subject: string): object {
  return {
    From: { name: 'Shop', email: from },
    To: to.map((email) => ({ email })),
    Subject: subject,
    ContentType: 'HTML',
    HTMLContent: '<h1>Hello</h1>',
  };
}
