/**
 * What every test in a browser needs: a connection to the Chromium of the run, a page that ends with its test, and what went
 * wrong in it. Where there is no Chromium the tests are skipped.
 */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { inject, onTestFinished, TestRunner } from 'vitest';
import type { Scope } from '../scenarios/harness.ts';
import { connectChromium } from './chromium.ts';

export { hasBrowser } from './chromium.ts';

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 360, height: 740 };

/** Ends with the scope. */
export async function openBrowser(scope: Scope): Promise<Browser> {
  const browser = await connectChromium(inject('browser'));
  scope.defer(() => browser.close());
  return browser;
}

export interface Watched {
  page: Page;
  /** Errors of scripts and of the console, policy violations among them. */
  errors: string[];
  /** Addresses that anything in the page asked for and got an answer from: what a policy stopped is not among them. */
  requests: string[];
}

/** A page that remembers what went wrong and what it asked for. Inside a test it is closed when the test ends. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Watched> {
  const context = await browser.newContext({ viewport: DESKTOP, ...options });
  // A page that stays open goes on asking its server, and takes the processor from the tests that follow.
  if (TestRunner.getCurrentTest() !== undefined) onTestFinished(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const errors: string[] = [];
  const requests: string[] = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('console', (message) => {
    // A picture that is kept out of a mail is said, and is meant.
    if (message.type() === 'error' && !message.text().startsWith('Loading the image'))
      errors.push(message.text());
  });
  page.on('response', (response) => requests.push(response.url()));
  return { page, errors, requests };
}

/** The page gets behind another tab, or in front again. */
export async function setHidden(page: Page, hidden: boolean): Promise<void> {
  await page.evaluate(
    `Object.defineProperty(document, 'visibilityState', { value: '${hidden ? 'hidden' : 'visible'}', configurable: true });
     window.dispatchEvent(new Event('visibilitychange'))`,
  );
}
