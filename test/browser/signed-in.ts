/** Somebody who is signed in to the dashboard of a production server: made by the API, signed in as a person does it. */
import type { Browser, BrowserContextOptions } from 'playwright-core';
import type { Instance } from '../scenarios/harness.ts';

const PASSWORD = 'correct horse battery';
let made = 0;

/** What a page of that person is opened with. `role`: what POST /people says of them, an operator unless given. */
export async function signedIn(
  browser: Browser,
  { server, call }: Instance,
  role: object = { Role: 'operator' },
): Promise<Pick<BrowserContextOptions, 'storageState'>> {
  made += 1;
  const Email = `person${made}@example.com`;
  const answer = await call('POST', '/people', { body: { Email, Password: PASSWORD, ...role } });
  if (answer.status !== 201) throw new Error(answer.text);
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(server.localUrl);
  await page.getByLabel('Email address').fill(Email);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: `Signed in as ${Email}` }).waitFor();
  const storageState = await context.storageState();
  await context.close();
  return { storageState };
}
