/**
 * Every place of the rail, filled by the demonstration: axe finds nothing serious in both themes, and nothing has to be
 * scrolled sideways on a phone and at 200 % zoom.
 */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Browser, Locator } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Demo, startDemo } from '../demo/demo.ts';
import { fileScope, temporaryFolder, until } from '../scenarios/harness.ts';
import { DESKTOP, hasBrowser, openBrowser, openPage, PHONE } from './browser.ts';

/** A desktop of 1280 pixels at 200 %. */
const ZOOMED = { width: 640, height: 400 };
/** What a place shows when it has its data. */
const CONTENT = ':is(h1, h2, table), :is(ul, [role=list]):not(nav *)';

interface Violation {
  id: string;
  impact: string;
  help: string;
  nodes: { html: string }[];
}

describe.skipIf(!hasBrowser)('every place', () => {
  const scope = fileScope();
  let demo: Demo;
  let browser: Browser;
  let paths: string[];
  let axe: string;

  beforeAll(async () => {
    demo = await startDemo({ data: await temporaryFolder(scope), http: '127.0.0.1:0', days: 1, seed: 1 });
    scope.defer(() => demo.stop());
    browser = await openBrowser(scope);
    axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    const { page } = await openPage(browser);
    await page.goto(demo.server.localUrl);
    await page.getByRole('link', { name: 'Overview' }).waitFor();
    paths = await page.evaluate<string[]>(
      `[...document.querySelectorAll('nav a')].map((one) => new URL(one.href).pathname).filter((one) => one !== '/' && !one.startsWith('/api/'))`,
    );
    const [message] = (await demo.call('GET', '/email?Status=Bounced&Limit=1')).Items as {
      MessageID: string;
    }[];
    const [mail] = (await demo.call('GET', '/sandbox/messages?Limit=1')).Items as { ID: string }[];
    const [template] = (await demo.call('GET', '/templates?Name=order-shipped')).Items as {
      TemplateID: string;
    }[];
    paths = [
      ...new Set(paths),
      `/templates/${template?.TemplateID}`,
      `/templates/${template?.TemplateID}?view=versions`,
      '/domains/acme.example?view=reports',
      `/messages/${message?.MessageID}`,
      `/inbox/${mail?.ID}`,
      '/queue/closed.example',
      '/queue?view=causes',
    ];
  }, 180_000);

  it('has nothing serious for axe to find in both themes, and is nowhere scrolled sideways', async () => {
    expect(paths.length).toBeGreaterThan(5);
    const { page } = await openPage(browser);
    const found: string[] = [];
    for (const path of paths) {
      await page.setViewportSize(DESKTOP);
      await page.goto(demo.server.localUrl + path);
      await page.locator(CONTENT).filter({ visible: true }).first().waitFor();
      await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
      await page.evaluate(axe);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        // What is not about colours is the same in both.
        const rules = colorScheme === 'dark' ? "runOnly: ['color-contrast']," : '';
        const violations = await page.evaluate<Violation[]>(
          `axe.run({ ${rules} resultTypes: ['violations'] }).then((one) => one.violations)`,
        );
        for (const { id, impact, help, nodes } of violations) {
          if (impact !== 'serious' && impact !== 'critical') continue;
          const where = nodes.map(({ html }) => html).join(' | ');
          found.push(`${path} (${colorScheme}): ${id}: ${help}: ${where.slice(0, 400)}`);
        }
      }
      for (const size of [PHONE, ZOOMED]) {
        await page.setViewportSize(size);
        // Drawn anew for the width.
        await until(
          'nothing is wider than the page',
          () => page.evaluate<boolean>('document.documentElement.scrollWidth <= innerWidth'),
          3_000,
        ).catch(() => found.push(`${path} is wider than ${size.width} pixels`));
        // By which somebody who hears the page finds what it is about.
        const parts = ['main, [role=main]', 'h1'].map((one) =>
          page.locator(one).filter({ visible: true }).count(),
        );
        const [mains = 0, titles = 0] = await Promise.all(parts);
        if (mains !== 1 || titles === 0)
          found.push(`${path} has ${mains} main parts and ${titles} titles at ${size.width} pixels`);
      }
    }
    expect(found).toEqual([]);
  });

  it('lets a finger hit everything that is no link within a text', async () => {
    const { page } = await openPage(browser, { viewport: PHONE, hasTouch: true, isMobile: true });
    const found: string[] = [];
    for (const path of paths) {
      await page.goto(demo.server.localUrl + path);
      await page.locator(CONTENT).filter({ visible: true }).first().waitFor();
      await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
      const small = await page.evaluate<string[]>(
        `[...document.querySelectorAll('a, button, input, select, textarea, summary')]
          .filter((one) => one.checkVisibility() && getComputedStyle(one).display !== 'inline')
          .filter((one) => one.matches(':not(.sr-only, [data-takes-keys] *)'))
          .map((one) => [one, (one.matches('[type=checkbox]') ? one.labels[0] : one).getBoundingClientRect()])
          .filter(([, { width, height }]) => height < 43.5 || width < 43.5)
          .map(([one, { width, height }]) => one.outerHTML.slice(0, 200) + ' ' + width + ' × ' + height)`,
      );
      found.push(...small.map((one) => `${path}: ${one}`));
    }
    expect(found).toEqual([]);
  });

  it('keeps what is read of a mail in reach at 400 % zoom, and the places on a line each', async () => {
    const { page } = await openPage(browser, { viewport: { width: 320, height: 256 } });
    for (const path of paths.filter((one) => /^\/(inbox|messages)\/./.test(one))) {
      await page.goto(demo.server.localUrl + path);
      const panel = page.getByRole('tabpanel').filter({ visible: true });
      await panel.waitFor();
      await page.mouse.move(100, 100);
      await page.mouse.wheel(0, 2_000);
      const topOf = async () => (await panel.boundingBox())?.y ?? 1_000;
      await until(`what is read at ${path} is in sight`, async () => (await topOf()) < 100, 5_000);
      const brokenWords = `[...document.querySelectorAll('nav a')].filter((link) => {
        const words = document.createRange();
        words.selectNodeContents(link.lastChild ?? link);
        return words.getClientRects().length > 1;
      }).length`;
      expect(await page.evaluate(brokenWords)).toBe(0);
    }
  });

  it('shows what is chosen in colours of the reader too', async () => {
    const { page } = await openPage(browser, { forcedColors: 'active' });
    await page.goto(`${demo.server.localUrl}/inbox`);
    await page.getByRole('list', { name: 'Captured mail' }).getByRole('link').first().click();
    const fillsOf = async (place: Locator, selector: string) => {
      await place.first().waitFor();
      return page.evaluate<string[]>(
        `[...document.querySelectorAll('${selector}')].slice(0, 2).map((one) => getComputedStyle(one).backgroundColor)`,
      );
    };
    const [view, otherView] = await fillsOf(page.getByRole('tab', { selected: true }), '[role=tab]');
    expect(view).not.toBe(otherView);
    const row = 'li > div > a[href*="/inbox/"]';
    const [mail, otherMail] = await fillsOf(page.locator('li > div > [aria-current]'), row);
    expect(mail).not.toBe(otherMail);
    await page.keyboard.press('Control+k');
    const [place, otherPlace] = await fillsOf(page.getByRole('option'), '[role=option]');
    expect(place).not.toBe(otherPlace);
  });

  it('shows dots in colours of the reader too: what is unread, and how each step went', async () => {
    const { page } = await openPage(browser, { forcedColors: 'active' });
    const unseen = `[...document.querySelectorAll('.size-2.rounded-full')]
      .map((dot) => getComputedStyle(dot).backgroundColor === getComputedStyle(document.body).backgroundColor)`;
    for (const path of ['/inbox', paths.find((one) => one.startsWith('/messages/'))]) {
      await page.goto(`${demo.server.localUrl}${path}`);
      await expect.poll(() => page.evaluate(unseen), { message: `${path}` }).toContain(false);
      expect(await page.evaluate(unseen), path).not.toContain(true);
    }
  });

  it('is printed to its end, in dark letters', async () => {
    const { page } = await openPage(browser, { colorScheme: 'dark' });
    for (const path of [
      '/domains/acme.example',
      '/overview',
      paths.find((one) => one.startsWith('/messages/')),
    ]) {
      await page.goto(`${demo.server.localUrl}${path}`);
      await page.locator(CONTENT).filter({ visible: true }).first().waitFor();
      await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
      const isCut = `[...document.querySelectorAll('main, main *')].some((one) =>
        one.scrollHeight > one.clientHeight + 1 && getComputedStyle(one).overflowY === 'auto')`;
      // As soon as what it shows has come.
      await expect.poll(() => page.evaluate(isCut)).toBe(true);
      await page.emulateMedia({ media: 'print' });
      expect([path, await page.evaluate(isCut)]).toEqual([path, false]);
      expect(await page.getByRole('link', { name: 'Overview' }).count()).toBe(0);
      // What is pressed, and what is folded, such as the conversation of two servers.
      expect(await page.getByRole('button', { name: /now|Copy|More/ }).count()).toBe(0);
      expect(await page.getByRole('tab').count()).toBe(0);
      expect(await page.getByText('MAIL FROM').count()).toBe(
        await page.getByText('MAIL FROM').filter({ visible: true }).count(),
      );
      expect(await page.evaluate('getComputedStyle(document.documentElement).colorScheme')).toBe('light');
      await page.emulateMedia({ media: 'screen' });
    }
  });

  it('has a main part and a heading, which the first Tab leads to past the rail', async () => {
    const { page } = await openPage(browser);
    for (const path of paths.filter((one) => !one.startsWith('/inbox'))) {
      await page.goto(demo.server.localUrl + path);
      await page.locator(CONTENT).filter({ visible: true }).first().waitFor();
      const counts = [
        await page.getByRole('main').count(),
        await page.getByRole('heading', { level: 1 }).count(),
      ];
      expect([path, ...counts]).toEqual([path, 1, 1]);
      expect(await page.locator('main h1 [aria-current]').count()).toBe(0);
    }
    await page.goto(`${demo.server.localUrl}/overview`);
    // Before, nothing in it can have the focus.
    await page.getByRole('main').getByRole('link').first().waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.closest("main") !== null')).toBe(true);
  });
});
