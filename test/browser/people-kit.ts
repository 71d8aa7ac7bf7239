/** People of a production server for tests and pictures of the dashboard: added by the API, and signed in as a browser is. */
import type { Browser, BrowserContextOptions } from 'playwright-core';
import type { Instance } from '../scenarios/harness.ts';
import { openPage, type Watched } from './browser.ts';

export const PASSWORD = 'correct horse battery';

/** Adds a person who signs in with `PASSWORD`; the address. `rights`: what POST /people says of them. */
export async function addPerson(
  server: Instance,
  Email: string,
  rights: object = { Role: 'operator' },
): Promise<string> {
  const added = await server.call('POST', '/people', { body: { Email, Password: PASSWORD, ...rights } });
  if (added.status !== 201) throw new Error(`POST /people answered ${added.status}: ${added.text}`);
  return Email;
}

/** The cookie of a new session, as a browser context takes it. */
export async function sessionCookie(server: Instance, Email: string) {
  const url = server.server.localUrl;
  const answer = await server.call('POST', '/session', {
    token: null,
    headers: { origin: url, 'x-postrider-dashboard': '1' },
    body: { Email, Password: PASSWORD },
  });
  const [pair = ''] = answer.headers.getSetCookie().join().split(';');
  const at = pair.indexOf('=');
  return { name: pair.slice(0, at), value: pair.slice(at + 1), url };
}

/** A page of a browser in which that person is signed in. */
export async function openPageAs(
  browser: Browser,
  server: Instance,
  email: string,
  options: BrowserContextOptions = {},
): Promise<Watched> {
  const opened = await openPage(browser, options);
  await opened.page.context().addCookies([await sessionCookie(server, email)]);
  return opened;
}

let made = 0;

/** What a page of a new person is opened with. */
export async function signedIn(
  server: Instance,
  rights: object = { Role: 'operator' },
): Promise<Pick<BrowserContextOptions, 'storageState'>> {
  made += 1;
  const { name, value, url } = await sessionCookie(
    server,
    await addPerson(server, `person${made}@example.com`, rights),
  );
  const place = { domain: new URL(url).hostname, path: '/', expires: -1 };
  const cookie = { name, value, ...place, httpOnly: true, secure: false, sameSite: 'Strict' as const };
  return { storageState: { cookies: [cookie], origins: [] } };
}
