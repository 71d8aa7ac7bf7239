/**
 * Pictures of the messages in every state that matters: `node test/browser/message-screenshots.ts FOLDER`. Given a folder; a
 * far end refuses and delays, and the pictures are left to be looked at.
 */
import type { Page } from 'playwright-core';
import { startFarEnd } from './far-end.ts';
import { LONG_MAILS, SHOWN_MAILS } from './mails.ts';
import { goOffline, type Screens, withScreens } from './screens.ts';

const [target = 'screenshots'] = process.argv.slice(2);
const far = await startFarEnd();
await withScreens(target, ['--route', `smtp://127.0.0.1:${far.port}`], async (screens) => {
  const { url, everywhere } = screens;
  await screens.call('POST', '/domains', { Domain: 'example.com', Verified: true });
  await screens.call('POST', '/domains', { Domain: 'a-rather-long-host-name.example.com', Verified: true });
  await everywhere('messages-empty', (page) => page.goto(`${url}/messages`));
  const ids = await fill(screens);
  await everywhere('messages', (page) => list(page, url));
  await everywhere('messages-search', (page) => list(page, url, 'status:bounced since:1d tag:invoice'));
  await everywhere('messages-none', (page) => page.goto(`${url}/messages?q=nobody@example.org`));
  await everywhere('messages-wrong', (page) => page.goto(`${url}/messages?q=status:lost`));
  await everywhere('message-bounced', (page) => open(page, url, ids.bounced));
  await everywhere('message-conversation', async (page) => {
    await open(page, url, ids.bounced);
    await page.getByText('SMTP conversation').first().click();
    await page.getByText('SMTP conversation').first().scrollIntoViewIfNeeded();
  });
  await everywhere('message-waits', (page) => open(page, url, ids.later));
  await everywhere('message-many', (page) => open(page, url, ids.many));
  await everywhere('message-delivered', (page) => open(page, url, ids.delivered));
  await everywhere('message-suppressed', (page) => open(page, url, ids.suppressed));
  await everywhere('message-long', (page) => open(page, url, ids.long));
  await everywhere('message-rtl', (page) => open(page, url, ids.rtl));
  await everywhere('message-preview', async (page) => {
    await open(page, url, ids.delivered);
    await page.getByRole('tab', { name: 'Preview' }).click();
    await page.frameLocator('iframe').locator('body').waitFor();
  });
  await everywhere('message-menu', async (page) => {
    await open(page, url, ids.later);
    await page.getByRole('button', { name: 'More about this message' }).click();
  });
  await everywhere('message-missing', (page) =>
    page.goto(`${url}/messages/019ab0c1-7d3e-7000-8000-000000000001`),
  );
  await everywhere('find', async (page) => {
    await list(page, url);
    await page.keyboard.press('Control+k');
    await page.keyboard.type('ada@far.test');
  });
  await everywhere('messages-keys', async (page) => {
    await list(page, url);
    await page.keyboard.press('?');
  });
  await everywhere('messages-offline', async (page) => {
    await list(page, url);
    await goOffline(page);
  });
});
await far.close();

async function list(page: Page, url: string, q = ''): Promise<void> {
  await page.goto(`${url}/messages${q === '' ? '' : `?q=${encodeURIComponent(q)}`}`);
  await page.getByRole('list', { name: 'Messages' }).getByRole('link').first().waitFor();
}

async function open(page: Page, url: string, id: string): Promise<void> {
  await page.goto(`${url}/messages/${id}`);
  await page.getByRole('tab', { name: 'Delivery' }).waitFor();
}

/** Mail of every kind and outcome. */
async function fill({ call }: Screens) {
  const send = async (mail: object): Promise<string> =>
    ((await call('POST', '/email', mail)) as { MessageID: string }).MessageID;
  const [invoice, news, order, code] = SHOWN_MAILS;
  const to = (...names: readonly string[]) => ({
    To: names.map((name) => ({ name: '', email: `${name}@far.test` })),
  });
  for (let n = 0; n < 4; n += 1)
    for (const mail of SHOWN_MAILS) await send({ ...mail, ...to(`reader-${n}`) });
  for (const n of [1, 2, 3]) await send({ ...invoice, ...to(`gone.reader-${n}`) });
  await call('POST', '/suppressions', { Domain: 'example.com', Items: [{ Email: 'former@far.test' }] });
  await send({ ...code, ...to('full.inbox') });
  await send({ ...news, ...to('scheduled'), SendAt: new Date(Date.now() + 7_200_000) });
  await send({ ...news, ...to('captured'), Sandbox: true });
  const [long, rtl, wide] = LONG_MAILS;
  const ids = {
    bounced: await send({ ...invoice, ...to('gone.grace'), Metadata: { order: '4711', customer: 'Grace' } }),
    later: await send({ ...code, ...to('later.bob') }),
    delivered: await send({ ...order, ...to('ada') }),
    suppressed: await send({ ...news, ...to('former', 'ada') }),
    many: await send({
      ...news,
      ...to('ada', 'gone.b', 'gone.c', 'blocked.d', 'full.e', 'later.f', ...'ghijklmnop'),
    }),
    long: await send({
      ...long,
      From: { ...long?.From, email: 'a-very-long-local-part-of-an-address@example.com' },
      ...to(`gone.${'donaudampfschifffahrts'.repeat(2)}`, ...'abcdefgh'),
      Tags: ['a-tag-of-a-length-that-no-tag-should-have-but-some-have-nevertheless'],
      Metadata: {
        'a-key-that-is-long-too': 'Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz',
      },
    }),
    rtl: await send({ ...rtl, ...to('gone.layla') }),
  };
  await send({ ...wide, ...to('hanako') });
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  return ids;
}
