/**
 * Pictures of the inbox in every state that matters, at four widths, light and dark: `node test/browser/screenshots.ts
 * FOLDER`. Given a folder; starts a development server of its own with mail of all kinds, and leaves the pictures, to be
 * looked at.
 */
import type { Page } from 'playwright-core';
import { LONG_MAILS, SHOWN_MAILS } from './mails.ts';
import { goOffline, withScreens } from './screens.ts';

const [target = 'screenshots'] = process.argv.slice(2);
await withScreens(target, [], async ({ url, call, everywhere }) => {
  const send = (mail: object) => call('POST', '/email', mail);
  await everywhere('empty', async (page) => page.goto(`${url}/inbox`));
  for (const mail of SHOWN_MAILS) await send(mail);
  await everywhere('inbox', (page) => open(page, url, 'Your sign-in code'));
  for (const mail of [...LONG_MAILS, ...SHOWN_MAILS]) await send(mail);
  await everywhere('list', async (page) => {
    await page.goto(`${url}/inbox`);
    await page.getByRole('list', { name: 'Captured mail' }).getByRole('link').first().waitFor();
  });
  await everywhere('mail', (page) => open(page, url, 'Your sign-in code'));
  await everywhere('long', (page) => open(page, url, 'Donaudampf'));
  await everywhere('rtl', (page) => open(page, url, 'تأكيد'));
  for (const view of ['Source', 'Headers', 'Links', 'Attachments', 'Checks', 'Test code', 'Text']) {
    await everywhere(`view-${view.toLowerCase().replaceAll(' ', '-')}`, async (page) => {
      await open(page, url, 'Your order');
      await page.getByRole('tab', { name: view }).click();
      await page.waitForTimeout(300);
    });
  }
  await everywhere('phone-width', async (page) => {
    await open(page, url, 'Your order');
    await page.getByRole('radio', { name: '375' }).click();
  });
  await everywhere('keys', async (page) => {
    await page.goto(`${url}/inbox`);
    await page.getByRole('list', { name: 'Captured mail' }).waitFor();
    await page.keyboard.press('?');
  });
  await everywhere('selected', async (page) => {
    await page.goto(`${url}/inbox`);
    await page.getByRole('list', { name: 'Captured mail' }).getByRole('link').first().waitFor();
    for (const key of ['j', 'x', 'j', 'x']) await page.keyboard.press(key);
  });
  await everywhere('nothing-found', (page) => page.goto(`${url}/inbox?q=from:nobody@example.com`));
  await everywhere('release', async (page) => {
    await open(page, url, 'Your sign-in code');
    await page.getByRole('button', { name: 'Release' }).click();
    await page.getByRole('button', { name: 'Release', exact: true }).last().click();
    await page.waitForTimeout(300);
  });
  await everywhere('offline', async (page) => {
    await open(page, url, 'Your sign-in code');
    await goOffline(page);
  });
});

async function open(page: Page, url: string, subject: string): Promise<void> {
  await page.goto(`${url}/inbox`);
  await page
    .getByRole('list', { name: 'Captured mail' })
    .getByRole('link', { name: subject })
    .first()
    .click();
  await page.getByRole('tab', { name: 'Preview' }).waitFor();
}
