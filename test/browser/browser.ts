/**
 * What every test in a browser needs: Chromium, a page before a real development server, and what went wrong in it. Where
 * there is no Chromium the tests are skipped, and it is said.
 */
import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import type { Scope } from '../scenarios/harness.ts';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  existsSync,
);

export const hasBrowser = CHROMIUM !== undefined;
if (!hasBrowser) process.stderr.write('SKIPPED: the dashboard in a browser (apt-get install chromium)\n');

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 360, height: 740 };

/** Ends with the scope. */
export async function openBrowser(scope: Scope): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: CHROMIUM ?? '',
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
  });
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

/** A page that remembers what went wrong and what it asked for. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Watched> {
  const context = await browser.newContext({ viewport: DESKTOP, ...options });
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
