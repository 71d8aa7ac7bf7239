/**
 * Pictures of the domains and the suppressions, at four widths, light and dark: `node test/browser/domain-screenshots.ts FOLDER`.
 * Given a folder; starts a production server and a DNS with right, wrong and missing records, and leaves the pictures, to be
 * looked at.
 */
import { mkdir } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { createFakeDns } from '../fakes/fake-dns.ts';
import { addDomain, startInstance } from '../scenarios/harness.ts';
import { launchChromium } from './chromium.ts';
import { addPerson, sessionCookie } from './people-kit.ts';
import { everywhereIn } from './screens.ts';

const [target = 'screenshots'] = process.argv.slice(2);
const LONG = 'post.a-rather-long-name-of-a-sending-organisation.department.example';
const ends: (() => unknown)[] = [];

await mkdir(target, { recursive: true });
const dns = await createFakeDns();
ends.push(() => dns.close());
const server = await startInstance(
  { defer: (end) => void ends.push(end) },
  { settings: { dns: dns.text, 'log-level': 'error' } },
);
const browser = await launchChromium();
ends.push(() => browser.close());
const url = server.server.localUrl;
const call = async (method: string, path: string, body?: object) =>
  (await server.call(method, path, body === undefined ? {} : { body })).json;
try {
  const email = await addPerson(server, 'ada@example.com');
  const everywhere = everywhereIn(browser, target, { cookies: [await sessionCookie(server, email)] });
  const shot = (name: string, path: string, show: (page: Page) => Promise<unknown>) =>
    everywhere(name, async (page) => {
      await page.goto(url + path);
      await show(page);
    });
  const section = (name: string) => (page: Page) => page.getByRole('heading', { name }).first().waitFor();

  await shot('domains-empty', '/domains', (page) => page.getByText('No sender domain yet').waitFor());
  await shot('suppressions-empty', '/suppressions', (page) =>
    page.getByText('Everybody is sent to').waitFor(),
  );
  for (const Domain of ['shop.example', 'news.shop.example', 'wrong.example', LONG])
    await call('POST', '/domains', { Domain });
  await addDomain(server, 'example.com');
  for (const name of ['shop.example', 'wrong.example']) {
    for (const { Host, Type, Value } of (await call('GET', `/domains/${name}`)).DnsRecords)
      if (Type === 'TXT') dns.set(Host, { TXT: [name === 'wrong.example' ? Value.slice(0, 255) : Value] });
    await call('POST', `/domains/${name}/verify`);
  }
  await call('PATCH', '/domains/shop.example', {
    Quota: { PerHour: 1000, PerDay: 5000 },
    TrackingHost: 'track.shop.example',
  });
  await call('POST', '/queue/hold', {
    SenderDomain: 'shop.example',
    Reason: 'wrong price in the newsletter',
  });
  await shot('domains', '/domains', (page) => page.getByRole('link', { name: LONG }).waitFor());
  await shot('domains-add', '/domains', async (page) => {
    await page.getByRole('button', { name: 'Add a domain' }).click();
  });
  for (const name of ['shop.example', 'wrong.example', LONG])
    await shot(`domain-${name.split('.')[0]}`, `/domains/${name}`, section('Records to publish'));
  await shot('domain-signing', '/domains/shop.example?view=signing', section('DKIM keys'));
  await shot('domain-signing-wrong', '/domains/wrong.example?view=signing', section('DKIM keys'));
  await shot('domain-limits', '/domains/shop.example?view=limits', (page) =>
    page.getByText('wrong price').waitFor(),
  );
  await shot('domain-settings', '/domains/shop.example?view=settings', section('Sending'));
  await shot('domain-none', '/domains/nothing.example', section('There is nothing'));
  await call('POST', '/suppressions', {
    Domain: 'shop.example',
    Items: [
      { Email: 'reader@example.net', Note: 'asked by telephone' },
      { Email: 'left@example.net', Reason: 'Unsubscribe' },
      { Email: 'full@example.net', Reason: 'SoftBounces' },
      { Email: `${'a-long-local-part-'.repeat(3)}x@${LONG}`, Reason: 'Bounce', Note: 'n o t e '.repeat(30) },
    ],
  });
  await shot('suppressions', '/suppressions', (page) => page.getByText('asked by telephone').waitFor());
  await shot('suppressions-none', '/suppressions?q=nobody@example.org', section('Nobody is on the list'));
  await shot('suppressions-add', '/suppressions', async (page) => {
    await page.getByRole('button', { name: 'Add…' }).click();
  });
  const list = 'Contact;Why;Remark\nann@example.net;moved;1\nnobody;x;2\nbob@example.net;bounce;3\n';
  await shot('import', '/suppressions/import', async (page) => {
    await page
      .getByLabel('File')
      .setInputFiles({ name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from(list) });
    await page.getByLabel('Address', { exact: true }).selectOption('Contact');
    await page.getByLabel('Reason', { exact: true }).selectOption('Why');
    await page.getByText('2 rows').waitFor();
  });
} finally {
  for (const end of ends.reverse()) await end();
}
