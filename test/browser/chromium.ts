/**
 * Chromium for tests, pictures and measurements of the dashboard: where it is (`CHROMIUM` in the environment names another), and
 * how it is started. Tests share one that
 * runs as long as their run (shared-browser.ts); scripts launch their own and close it.
 */
import { existsSync } from 'node:fs';
import { type Browser, type BrowserServer, chromium } from 'playwright-core';

/** Where it is; undefined = there is none. The shell without windows needs about half of the processor time for a page. */
export const CHROMIUM = [
  process.env.CHROMIUM ?? '',
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find(existsSync);
const OPTIONS = {
  executablePath: CHROMIUM ?? '',
  args: [
    '--no-sandbox',
    '--disable-dev-shm-usage',
    '--disable-gpu',
    // Chromium otherwise loads pages for its own menus with every window, which nobody sees.
    '--disable-features=PreloadTopChromeWebUI',
  ],
};

export const hasBrowser = CHROMIUM !== undefined;

export function launchChromium(): Promise<Browser> {
  return chromium.launch(OPTIONS);
}

/** One that several processes connect to. */
export function launchSharedChromium(): Promise<BrowserServer> {
  return chromium.launchServer(OPTIONS);
}

/** `address`: of a shared one. Its contexts end with the connection. */
export function connectChromium(address: string): Promise<Browser> {
  return chromium.connect(address);
}
