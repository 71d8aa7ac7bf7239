/**
 * The templates in a browser, before a real server: one is made, written with a preview beside it, tried with sample data, saved
 * and sent to the sandbox; versions are compared and restored; two people who change one are kept apart; hostile texts run and
 * load nothing; nothing that is not saved is lost without a question; a viewer only looks. On a desktop and on a phone.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { fileScope, type Instance, startInstance } from '../scenarios/harness.ts';
import { hasBrowser, openBrowser, openPage, PHONE, type Watched } from './browser.ts';
import { addPerson, openPageAs, PASSWORD, signedIn } from './people-kit.ts';

describe.skipIf(!hasBrowser)('the templates', () => {
  const scope = fileScope();
  let server: Instance;
  /** Where people sign in. */
  let closed: Instance;
  let browser: Browser;
  let url: string;

  beforeAll(async () => {
    server = await startInstance(scope, { mode: 'dev', settings: { 'log-level': 'error' } });
    closed = await startInstance(scope, { settings: { 'log-level': 'error' } });
    for (const one of [server, closed])
      await one.call('POST', '/domains', { body: { Domain: 'example.com', Verified: true } });
    browser = await openBrowser(scope);
    url = `${server.server.localUrl}/templates`;
  });

  let count = 0;
  const make = async (texts: object = {}, on = server): Promise<string> => {
    const body = { Name: `made-${++count}`, Domain: 'example.com', Subject: 'Hi {{name}}', ...texts };
    const made = await on.call('POST', '/templates', { body });
    if (made.status !== 201) throw new Error(made.text);
    return made.json.TemplateID;
  };
  const read = async (id: string) => (await server.call('GET', `/templates/${id}`)).json;
  const open = async (id: string, options: Parameters<typeof openPage>[1] = {}): Promise<Watched> => {
    const watched = await openPage(browser, options);
    await watched.page.goto(`${url}/${id}`);
    await watched.page.getByRole('heading', { level: 1 }).waitFor();
    return watched;
  };
  const html = (page: Page) => page.getByRole('textbox', { name: 'HTML' });
  const write = async (page: Page, text: string) => {
    await html(page).click();
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText(text);
  };
  const preview = (page: Page) => page.frameLocator('iframe[title^="The mail"]');
  const save = (page: Page) => page.getByRole('button', { name: 'Save', exact: true });
  const more = async (page: Page, name: string) => {
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('menuitem', { name }).click();
  };
  const isScrolledSideways = (page: Page) =>
    page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth');

  it('makes the first one, shows it as it is written, saves it and sends a test', async () => {
    const { page, errors } = await openPage(browser);
    await page.goto(url);
    await page.getByText('No templates yet').waitFor();
    await page.getByRole('button', { name: 'New template' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('welcome');
    await expect.poll(() => page.getByLabel('Sender domain').inputValue()).toBe('example.com');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'welcome' }).waitFor();
    await preview(page).getByText('Hello there').waitFor();
    expect(await save(page).isDisabled()).toBe(true);

    await write(page, '<h1>Dear {{name}}</h1><p>Your code is {{order.code}}</p>');
    await preview(page).getByRole('heading', { name: 'Dear' }).waitFor();
    await page.getByText('not saved yet').waitFor();
    await page.getByRole('tab', { name: 'Sample data 2' }).click();
    await page.getByText('Missing').getByText('order.code').waitFor();
    await page.getByRole('button', { name: 'Add to the sample' }).click();
    await preview(page).getByText('Your code is code').waitFor();
    await page.getByRole('textbox', { name: 'Sample data' }).click();
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText('{\n  "name": "<Ann>",\n  "order": { "code": 42, }\n}');
    await page.getByRole('button', { name: 'Line 3, column 26: There is a comma too many' }).click();
    await page.getByText('The sample data is not JSON').waitFor();
    // The cursor stands at the mistake, behind the comma and a blank.
    await page.keyboard.press('Backspace');
    await page.keyboard.press('Backspace');
    await preview(page).getByText('Your code is 42').waitFor();
    await preview(page).getByText('Dear <Ann>').waitFor();

    await save(page).click();
    await page.getByText('Saved as version 2').waitFor();
    await page.getByText('version 2, changed').waitFor();
    expect(await save(page).isDisabled()).toBe(true);
    expect(await page.locator(':focus').textContent()).toBe('Save');
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByLabel('To', { exact: true }).fill('ann@example.net');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('button', { name: 'Show it' }).click();
    await page.waitForURL('**/inbox/*');
    await page.getByRole('heading', { name: 'Hello <Ann>' }).waitFor();
    expect(errors.filter((one) => !one.includes('status of 422'))).toEqual([]);
  });

  it('keeps the directions that a text gives what is filled in', async () => {
    const Subject = 'Hi \u2068{{name}}\u2069';
    const id = await make({ Subject, HTMLContent: '<p>\u2067{{name}}\u2069</p>' });
    const { page } = await open(id);
    await page.getByRole('textbox', { name: 'Subject' }).fill(`${Subject}!`);
    await save(page).click();
    await expect.poll(async () => (await read(id)).Subject).toBe(`${Subject}!`);
    expect((await read(id)).HTMLContent).toBe('<p>\u2067{{name}}\u2069</p>');
  });

  it('keeps every letter of whoever types faster than the page follows', async () => {
    const id = await make({ HTMLContent: '<p></p>' });
    const { page } = await open(id);
    await html(page).click();
    const letters = 'abcdefghij'.repeat(12);
    // As fast as a burst of keys comes, several between two drawings.
    await page.keyboard.press('Control+End');
    for (const part of letters.match(/.{1,4}/g) ?? [])
      await Promise.all([...part].map((letter) => page.keyboard.press(letter)));
    await expect.poll(() => html(page).textContent()).toBe(`<p></p>${letters}`);
    await save(page).click();
    await page.getByText('Saved as version 2').waitFor();
    expect((await read(id)).HTMLContent).toBe(`<p></p>${letters}`);
  });

  it('says where a mistake is, and shows what was there before', async () => {
    const id = await make({ HTMLContent: '<p>Fine {{name}}</p>' });
    const { page } = await open(id);
    await preview(page).getByText('Fine').waitFor();
    await write(page, '<p>one</p>\n<p>{{#open}}</p>');
    const mistake = page.getByRole('button', { name: /^Line 2, column 4: / });
    await mistake.waitFor();
    await page.getByText('There is a mistake in the HTML. This is how it was before.').waitFor();
    await preview(page).getByText('Fine').waitFor();
    await page.getByLabel('Subject').fill('Hi {{name');
    await page.getByText(/Subject of the template, line 1, column 4/).waitFor();
    // What the server refuses is said, and is not lost.
    await save(page).click();
    await page
      .getByText(/column 4/)
      .nth(1)
      .waitFor();
    expect(await read(id)).toMatchObject({ Version: 1 });
    await mistake.click();
    await page.keyboard.insertText('x');
    await expect.poll(() => html(page).textContent()).toContain('<p>x{{#open}}</p>');
  });

  it('shows what is written below elements with the names of what a page has', async () => {
    const names = ['URL', 'readyState', 'documentElement', 'replaceChild', 'adoptNode', 'scrollTo', 'body'];
    const named = names.map((one) => `<img name="${one}"><form name="${one}"></form>`).join('');
    const { page, errors } = await open(await make({ HTMLContent: `${named}<p>At first</p>` }));
    await preview(page).getByText('At first').waitFor();
    await write(page, `${named}<p>And then</p>`);
    await preview(page).getByText('And then').waitFor();
    expect(errors).toEqual([]);
  });

  it('runs and loads nothing of hostile texts, and leads nowhere', async () => {
    const asked: string[] = [];
    const outside = createServer((request, answer) => {
      asked.push(request.url ?? '');
      answer.end();
    });
    await new Promise<void>((resolve) => outside.listen(0, '127.0.0.1', resolve));
    scope.defer(() => new Promise((resolve) => outside.close(resolve)));
    const evil = `http://127.0.0.1:${(outside.address() as AddressInfo).port}`;
    const id = await make({
      Name: `<img src=x onerror="document.title='ran'">`,
      Subject: `<b>{{name}}</b>\u202Egnp.exe`,
      HTMLContent: `<html dir="rtl"><head><meta http-equiv="refresh" content="0;url=${evil}/refresh"><link rel="preconnect" href="${evil}"><link rel="stylesheet" href="${evil}/style"><style>@import "${evil}/import"; body{background:url(${evil}/background)} p{color:rgb(1, 2, 3)}</style></head>
<body onload="top.document.title='ran'" style="margin:7px"><p>Still readable</p><script>top.document.title='ran';fetch('${evil}/script')</script><img src="${evil}/pixel" onerror="top.document.title='ran'"><img src=x onerror="parent.document.title='ran'"><iframe src="${evil}/frame"></iframe><iframe srcdoc="<script>top.document.title='ran'</script>"></iframe><object data="${evil}/object"></object><embed src="${evil}/embed"><video src="${evil}/video" poster="${evil}/poster"></video><svg><image href="${evil}/svg"/><script>top.document.title='ran'</script></svg><form action="${evil}/form"><button>Press</button></form><a href="javascript:top.document.title='ran'">run</a> <a href="${evil}/link">follow</a> <a href="/api/v1/templates" target="_top">up</a> <a href="/preview/pictures">pictures</a> <a href="/api/v1/openapi.json?/preview">document</a><div style="position:fixed;inset:0;z-index:99999;opacity:.01;pointer-events:none">over</div></body></html>`,
    });
    const { page, requests } = await open(id);
    const frame = preview(page);
    await frame.getByText('Still readable').waitFor();
    // Its own styles count, and its direction.
    expect(
      await page.evaluate<string>(
        `(() => { const page = document.querySelector('iframe').contentDocument; return [page.dir, page.defaultView.getComputedStyle(page.querySelector('p')).color, page.body.style.margin].join() })()`,
      ),
    ).toBe('rtl,rgb(1, 2, 3),7px');
    for (const name of ['run', 'follow', 'up', 'pictures', 'document']) {
      await frame.getByText(name, { exact: true }).click({ force: true });
      await frame.getByText('Still readable').waitFor();
    }
    await frame.getByRole('button', { name: 'Press' }).click({ force: true });
    await page.getByRole('radio', { name: '375' }).click();
    await page.getByRole('radio', { name: 'Dark' }).click();
    await frame.getByText('Still readable').waitFor();
    await page.getByRole('radio', { name: 'Text', exact: true }).click();
    await page.getByRole('radio', { name: 'HTML', exact: true }).click();
    await frame.getByText('Still readable').waitFor();
    expect(await page.title()).not.toBe('ran');
    expect(page.url()).toBe(`${url}/${id}`);
    expect(asked).toEqual([]);
    expect(requests.filter((one) => !one.startsWith(server.server.localUrl))).toEqual([]);

    // Pictures only where somebody says so, and nothing else with them.
    await page.getByRole('button', { name: 'Show once' }).click();
    await expect.poll(() => asked.includes('/pixel')).toBe(true);
    await frame.getByText('Still readable').waitFor();
    const pictures = ['/pixel', '/poster', '/svg', '/background'];
    expect(asked.filter((one) => !pictures.includes(one))).toEqual([]);
    expect(await page.title()).not.toBe('ran');
  });

  it('keeps two people apart, and loses nothing of either', async () => {
    const id = await make({ HTMLContent: '<p>first</p>' });
    const { page } = await open(id);
    await write(page, '<p>mine</p>');
    await server.call('PUT', `/templates/${id}`, { body: { HTMLContent: '<p>theirs</p>', Version: 1 } });
    await save(page).click();
    const notice = page.getByRole('alert');
    await notice.getByText('Somebody stored version 2').waitFor();
    expect(await read(id)).toMatchObject({ Version: 2, HTMLContent: '<p>theirs</p>' });
    expect(await save(page).isDisabled()).toBe(true);
    await notice.getByRole('button', { name: 'Compare' }).click();
    await page.getByRole('heading', { name: 'From version 2 to what is not saved' }).waitFor();
    await page.getByRole('textbox', { name: 'HTML, before' }).getByText('theirs').waitFor();
    await page.getByRole('textbox', { name: 'HTML, after' }).getByText('mine').waitFor();
    await notice.getByRole('button', { name: 'Keep mine' }).click();
    await save(page).click();
    await page.getByText('Saved as version 3').waitFor();
    expect(await read(id)).toMatchObject({ Version: 3, HTMLContent: '<p>mine</p>' });

    await page.getByRole('radio', { name: 'Edit' }).click();
    await write(page, '<p>given up</p>');
    await server.call('PUT', `/templates/${id}`, { body: { HTMLContent: '<p>newest</p>' } });
    // The keys do nothing before the page knows of the change.
    await expect.poll(() => save(page).isDisabled()).toBe(false);
    await page.keyboard.press('Control+S');
    await notice.getByRole('button', { name: 'Take version 4' }).click();
    await preview(page).getByText('newest').waitFor();
    await expect.poll(() => html(page).textContent()).toBe('<p>newest</p>');
    expect(await save(page).isDisabled()).toBe(true);
  });

  it('compares versions and restores one', async () => {
    const id = await make({ HTMLContent: '<p>one</p>', PlainContent: 'same' });
    const put = (HTMLContent: string) =>
      server.call('PUT', `/templates/${id}`, {
        body: { Subject: 'Hi {{name}}', HTMLContent, PlainContent: 'same' },
      });
    await put('<p>two</p>');
    await put('<p>three</p>');
    const { page, errors } = await open(id);
    await page.getByRole('radio', { name: 'Versions' }).click();
    await page.getByRole('heading', { name: 'From version 2 to version 3' }).waitFor();
    await page.getByRole('button', { name: /^Version 1/ }).click();
    await page.getByRole('textbox', { name: 'HTML, before' }).getByText('one').waitFor();
    await page.getByText('The same in both: Subject, Plain text.').waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Restore version 1' }).click();
    await preview(page).getByText('one').waitFor();
    await save(page).click();
    await page.getByText('Saved as version 4').waitFor();
    expect(await read(id)).toMatchObject({ Version: 4, HTMLContent: '<p>one</p>', PlainContent: 'same' });
    expect(errors).toEqual([]);
  });

  it('asks before texts that are not saved are left', async () => {
    const id = await make();
    const { page } = await open(id);
    await page.getByLabel('Subject').fill('Not saved');
    await page.getByRole('radio', { name: 'Versions' }).click();
    await page.getByRole('radio', { name: 'Edit' }).click();
    await expect.poll(() => page.getByLabel('Subject').inputValue()).toBe('Not saved');
    await page.getByRole('link', { name: 'Back to the templates' }).click();
    await page.getByRole('button', { name: 'Stay' }).click();
    await expect.poll(() => page.getByLabel('Subject').inputValue()).toBe('Not saved');
    const asks = new Promise<string>((resolve) =>
      page.once('dialog', (dialog) => {
        resolve(dialog.type());
        void dialog.dismiss();
      }),
    );
    await page.close({ runBeforeUnload: true });
    expect(await asks).toBe('beforeunload');
    await page.getByRole('link', { name: 'Back to the templates' }).click();
    await page.getByRole('button', { name: 'Discard changes' }).click();
    await page.waitForURL(url);
    await page.goBack();
    await expect.poll(() => page.getByLabel('Subject').inputValue()).toBe('Hi {{name}}');
  });

  it('renames, copies as curl, and deletes with ten seconds to undo it', async () => {
    const id = await make({ Name: 'before', PlainContent: "It's {{name}}" });
    await make({ Name: 'taken' });
    const { page } = await open(id, { permissions: ['clipboard-read', 'clipboard-write'] });
    await page.getByLabel('Subject').fill('Not saved');
    await more(page, 'Rename…');
    await page.getByRole('textbox', { name: 'Name' }).fill('taken');
    await page.getByRole('button', { name: 'Rename' }).click();
    await page.getByText('has a template named "taken" already').waitFor();
    await page.getByRole('textbox', { name: 'Name' }).fill('after');
    await page.getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('heading', { name: 'after' }).waitFor();
    // A name is no version, and leaves what is being written.
    expect(await read(id)).toMatchObject({ Name: 'after', Version: 1 });
    await expect.poll(() => page.getByLabel('Subject').inputValue()).toBe('Not saved');
    await more(page, 'Copy as curl');
    await page.getByText('Command copied').waitFor();
    const command = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(command).toContain(`"TemplateID":"${id}"`);
    await more(page, 'Delete');
    await page.waitForURL(url);
    await page.getByRole('table').getByText('taken').waitFor();
    await expect.poll(() => page.getByRole('link', { name: 'after' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('link', { name: 'after' }).waitFor();
    expect(await read(id)).toMatchObject({ Name: 'after' });
  });

  it('finds by name, and works by keys alone', async () => {
    const id = await make({ Name: 'by-keys', HTMLContent: '<p>keys</p>' });
    const { page } = await openPage(browser);
    await page.goto(url);
    await page.getByRole('table', { name: 'Templates' }).waitFor();
    let answer = (): void => {};
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/templates?*BY-K*', (route) => held.then(() => route.continue()));
    await page.keyboard.press('/');
    await page.keyboard.insertText('BY-K');
    await page.waitForURL('**?q=BY-K');
    // What was there stays until the answer comes.
    await page.locator('table[aria-busy="true"]').waitFor();
    expect(await page.getByRole('table').getByRole('link').count()).toBeGreaterThan(1);
    answer();
    await expect.poll(() => page.getByRole('table').getByRole('link').count()).toBe(1);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${url}/${id}`);
    await html(page).getByText('keys').waitFor();
    await page.getByRole('tab', { name: 'HTML' }).focus();
    await page.keyboard.press('Tab');
    // Over the panel to the editor, in which letters are letters, and out of it again.
    for (let n = 0; n < 3 && !(await isWriting(page)); n += 1) await page.keyboard.press('Tab');
    expect(await isWriting(page)).toBe(true);
    await page.keyboard.type('u/?');
    await expect.poll(() => html(page).textContent()).toContain('u/?');
    await page.keyboard.press('Control+S');
    await page.getByText('Saved as version 2').waitFor();
    await page.keyboard.press('Tab');
    expect(await isWriting(page)).toBe(false);
    await page.keyboard.press('u');
    await page.waitForURL(url);
  });

  it('fits a phone, where the preview is one of the tabs', async () => {
    const id = await make({ HTMLContent: `<p>On a phone</p><pre>${'wide '.repeat(200)}</pre>` });
    const { page, errors } = await open(id, { viewport: PHONE });
    await html(page).getByText('On a phone').waitFor();
    expect(await isScrolledSideways(page)).toBe(false);
    await page.getByRole('tab', { name: 'Preview' }).click();
    await preview(page).getByText('On a phone').waitFor();
    await page.getByRole('radio', { name: '375' }).click();
    expect(await isScrolledSideways(page)).toBe(false);
    await page.getByRole('tab', { name: 'Sample data' }).click();
    await page.getByText('Missing').waitFor();
    expect(await isScrolledSideways(page)).toBe(false);
    await server.call('PUT', `/templates/${id}`, { body: { HTMLContent: '<p>Newer</p>' } });
    await page.goto(`${url}/${id}?view=versions`);
    await page.getByText('Newer').waitFor();
    expect(await isScrolledSideways(page)).toBe(false);
    await page.goto(url);
    await page.getByRole('list', { name: 'Templates' }).getByRole('listitem').first().waitFor();
    expect(await isScrolledSideways(page)).toBe(false);
    expect(errors).toEqual([]);
  });

  it('keeps what is not saved for whoever wrote it, over the end of a session', async () => {
    const id = await make({}, closed);
    const [ada, bob] = [
      await addPerson(closed, 'ada@example.com'),
      await addPerson(closed, 'bob@example.com'),
    ];
    const { page } = await openPageAs(browser, closed, ada);
    await page.goto(`${closed.server.localUrl}/templates/${id}`);
    await page.getByLabel('Subject').fill('Not saved');
    const again = async (email: string) => {
      await page.getByText(/^Not saved/).waitFor();
      await page.context().clearCookies();
      await page.getByLabel('Subject').fill(`Not saved, then ${email}`);
      await page.getByLabel('Email address').fill(email);
      await page.getByLabel('Password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('dialog', { name: 'Sign in' }).waitFor({ state: 'detached' });
      return page.getByLabel('Subject').inputValue();
    };
    expect(await again(ada)).toBe('Not saved, then ada@example.com');
    expect(await again(bob)).toBe('Hi {{name}}');
  });

  it('opens one that has no HTML at its plain text', async () => {
    const { page } = await open(await make({ PlainContent: 'Only text for {{name}}' }));
    await page.getByRole('tab', { name: 'Plain text', selected: true }).waitFor();
    await page.locator('pre').getByText('Only text for').waitFor();
    await page.getByRole('radio', { name: 'HTML', exact: true }).click();
    await page.getByRole('region', { name: 'Preview' }).getByText('No HTML').waitFor();
  });

  it('shows a viewer the texts and what they become, and no button that would be refused', async () => {
    const id = await make({ HTMLContent: '<p>For {{name}}</p>' }, closed);
    await closed.call('PUT', `/templates/${id}`, { body: { HTMLContent: '<p>To {{name}}</p>' } });
    const rights = { Role: 'viewer', Domains: ['example.com'] };
    const { page, errors } = await openPage(browser, await signedIn(closed, rights));
    await page.goto(`${closed.server.localUrl}/templates`);
    await page
      .getByRole('table')
      .getByRole('link', { name: `made-${count}` })
      .click();
    await preview(page).getByText('To').waitFor();
    await page.getByRole('tab', { name: 'Sample data 1' }).click();
    await page.getByRole('button', { name: 'Add to the sample' }).click();
    await preview(page).getByText('To name').waitFor();
    for (const name of ['Save', 'Send a test', 'New template'])
      await expect.poll(() => page.getByRole('button', { name }).count(), { message: name }).toBe(0);
    await page.getByRole('tab', { name: 'HTML' }).click();
    await html(page).click();
    await page.keyboard.type('more');
    await expect.poll(() => html(page).textContent()).toBe('<p>To {{name}}</p>');
    await page.getByRole('radio', { name: 'Versions' }).click();
    await page.getByRole('heading', { name: 'From version 1 to version 2' }).waitFor();
    await expect.poll(() => page.getByRole('button', { name: 'Restore' }).count()).toBe(0);
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await expect
      .poll(() => page.getByRole('menuitem').allTextContents())
      .toEqual(['Copy as curl', 'Copy the id']);
    expect(errors).toEqual([]);
  });

  /** Whether the focus is in an editor, whose elements are in a shadow root. */
  function isWriting(page: Page): Promise<boolean> {
    return page.evaluate<boolean>(
      `document.activeElement?.shadowRoot?.activeElement?.getAttribute('contenteditable') === 'true'`,
    );
  }
});
