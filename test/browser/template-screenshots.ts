/**
 * Pictures of the templates, at four widths, light and dark: `node test/browser/template-screenshots.ts FOLDER`. Given a folder;
 * starts a server, and leaves the pictures, to be looked at.
 */
import type { Page } from 'playwright-core';
import { FIRST_ORDER, ORDER } from '../demo/templates.ts';
import { withScreens } from './screens.ts';

const [target = 'screenshots'] = process.argv.slice(2);

await withScreens(target, [], async ({ url, call, everywhere }) => {
  const place = `${url}/templates`;
  await everywhere('templates-empty', async (page) => {
    await page.goto(place);
    await page.getByText('No templates yet').waitFor();
  });
  await call('POST', '/domains', { Domain: 'shop.example', Verified: true });
  for (const Name of ['welcome', 'password-reset', `a-long-name-${'of-a-template-'.repeat(6)}`])
    await call('POST', '/templates', { Name, Domain: 'shop.example', Subject: 'Hello {{name}}' });
  const made = await call('POST', '/templates', { ...FIRST_ORDER, Domain: 'shop.example' });
  const { TemplateID } = made as { TemplateID: string };
  const { Name: _, Domain: __, ...texts } = ORDER;
  await call('PUT', `/templates/${TemplateID}`, { ...texts, Subject: 'Your order {{number}}' });
  await call('PUT', `/templates/${TemplateID}`, texts);
  const open = `${place}/${TemplateID}`;
  await everywhere('templates', async (page) => {
    await page.goto(place);
    await page.getByText('order-shipped').waitFor();
  });
  await everywhere('templates-new', async (page) => {
    await page.goto(place);
    await page.getByRole('button', { name: 'New template' }).click();
  });
  const sampled = async (page: Page) => {
    await page.goto(open);
    await page.getByRole('tab', { name: 'Sample data' }).click();
    await page.getByRole('button', { name: 'Add to the sample' }).click();
    await page.getByText('Missing').waitFor({ state: 'detached' });
  };
  await everywhere('template', async (page) => {
    await sampled(page);
    await page.getByRole('tab', { name: 'HTML' }).click();
    await page.getByRole('textbox', { name: 'HTML' }).waitFor();
  });
  await everywhere('template-sample', async (page) => {
    await page.goto(open);
    await page.getByRole('tab', { name: 'Sample data' }).click();
    await page.getByText('Missing').waitFor();
  });
  await everywhere('template-mistake', async (page) => {
    await page.goto(open);
    await page.getByRole('textbox', { name: 'HTML' }).click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('<p>{{#open}}</p>');
    await page.getByText('Line').first().waitFor();
  });
  await everywhere('template-versions', async (page) => {
    await page.goto(`${open}?view=versions&version=1`);
    await page.getByRole('button', { name: 'Restore' }).waitFor();
    await page.getByText('unchanged lines').first().waitFor();
  });
  await everywhere('template-conflict', async (page) => {
    await page.goto(open);
    await page.getByLabel('Subject').fill('Mine');
    await call('PUT', `/templates/${TemplateID}`, { ...texts });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Compare' }).waitFor();
  });
  await everywhere('template-test', async (page) => {
    await page.goto(open);
    await page.getByRole('button', { name: 'Send a test' }).click();
  });
});
