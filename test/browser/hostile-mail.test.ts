/**
 * Mail that wants to do harm, in the inbox of a browser: nothing of it runs, nothing is asked for elsewhere, nothing leaves its
 * frame, and pictures load only where somebody says so.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { fileScope, type Instance, startInstance } from '../scenarios/harness.ts';
import { hasBrowser, openBrowser, openPage } from './browser.ts';

describe.skipIf(!hasBrowser)('hostile mail', () => {
  const scope = fileScope();
  let server: Instance;
  let browser: Browser;
  let evil: string;
  const asked: string[] = [];

  beforeAll(async () => {
    server = await startInstance(scope, { mode: 'dev' });
    browser = await openBrowser(scope);
    const outside = createServer((request, answer) => {
      asked.push(request.url ?? '');
      answer.end();
    });
    await new Promise<void>((resolve) => outside.listen(0, '127.0.0.1', resolve));
    scope.defer(() => new Promise((resolve) => outside.close(resolve)));
    evil = `http://127.0.0.1:${(outside.address() as AddressInfo).port}`;
    await server.send({
      From: { name: '<img src=x onerror=alert(1)>', email: 'sender@example.com' },
      Subject: '<script>document.title="ran"</script>\u202Egnp.exe',
      HTMLContent: `<html><head><meta http-equiv="refresh" content="0;url=${evil}/refresh"><link rel="stylesheet" href="${evil}/style"><style>@import "${evil}/import"; body{background:url(${evil}/background)} @font-face{font-family:x;src:url(${evil}/font)} p{font-family:x}</style></head>
<body onload="top.document.title='ran'"><p>Still readable</p><script>top.document.title='ran';fetch('${evil}/script')</script><img src="${evil}/pixel" onerror="fetch('${evil}/onerror')"><img src="/api/v1/sandbox/messages"><iframe src="${evil}/frame"></iframe><iframe srcdoc="<script>parent.top.document.title='ran'</script>"></iframe><object data="${evil}/object"></object><embed src="${evil}/embed"><video src="${evil}/video" poster="${evil}/poster"></video><svg><image href="${evil}/svg"/><script>fetch('${evil}/svgscript')</script></svg><form action="${evil}/form"><input name="a" autofocus onfocus="fetch('${evil}/focus')"><button>Press</button></form><a href="javascript:top.document.title='ran'">run</a> <a href="${evil}/link">follow</a><div style="position:fixed;inset:0;z-index:99999;opacity:.01;pointer-events:none">over everything</div></body></html>`,
      Attachments: [
        {
          Content: Buffer.from(
            `<svg xmlns="http://www.w3.org/2000/svg"><script>top.document.title='ran'</script><image href="${evil}/svgfile"/></svg>`,
          ).toString('base64'),
          Filename: 'picture.svg',
          Type: 'image/svg+xml',
        },
        {
          Content: Buffer.from('<script>top.document.title="ran"</script>').toString('base64'),
          Filename: 'a.pdf',
          Type: 'application/pdf',
        },
        {
          Content: Buffer.from(documentThatActs(evil)).toString('base64'),
          Filename: 'letter.pdf',
          Type: 'application/pdf',
        },
        {
          Content: Buffer.from(`<script>fetch('${evil}/page');opener.document.title='ran'</script>`).toString(
            'base64',
          ),
          Filename: 'page.html',
          Type: 'text/html',
        },
      ],
    });
  });
  const opened = async () => {
    const watched = await openPage(browser);
    await watched.page.goto(server.server.localUrl);
    await watched.page.getByRole('list', { name: 'Captured mail' }).getByRole('link').first().click();
    return watched;
  };

  it('runs nothing and asks for nothing, in no view', async () => {
    const { page, requests } = await opened();
    const frame = page.frameLocator('iframe');
    await frame.getByText('Still readable').waitFor();
    await frame.getByText('run', { exact: true }).click({ force: true });
    await frame.getByRole('button', { name: 'Press' }).click({ force: true });
    for (const view of ['Text', 'Source', 'Headers', 'Links', 'Attachments', 'Checks', 'Preview']) {
      await page.getByRole('tab', { name: view }).click();
      await page.getByRole('tabpanel', { name: view }).waitFor();
      if (view !== 'Attachments') continue;
      await page.getByRole('img', { name: 'picture.svg' }).scrollIntoViewIfNeeded();
      const file = (name: string) => page.getByRole('listitem').filter({ hasText: name });
      await file('a.pdf').getByRole('button', { name: 'Preview' }).click();
      await page.getByText('not a PDF document').waitFor();
      await file('letter.pdf').getByRole('button', { name: 'Preview' }).click();
      await page.locator('iframe[title="Preview of letter.pdf"][src^="blob:"]').waitFor();
      expect(await file('page.html').getByRole('button').count()).toBe(0);
    }
    await page.getByText('Pictures from elsewhere are blocked').waitFor();
    expect(await page.title()).not.toBe('ran');
    expect(
      requests.filter((one) => !one.startsWith(server.server.localUrl) && !one.startsWith('blob:')),
    ).toEqual([]);
    expect(asked).toEqual([]);
  });

  it('shows texts in the order in which they were written', async () => {
    const { page } = await openPage(browser);
    for (const place of ['inbox', 'messages']) {
      await page.goto(`${server.server.localUrl}/${place}`);
      await page.getByText('gnp.exe').first().click();
      await page.getByRole('heading', { name: 'gnp.exe' }).waitFor();
      const shown = `${await page.title()} ${await page.content()}`;
      expect(shown).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
    }
  });

  it('hands a page in its files over as a file, and never shows it', async () => {
    const { page } = await opened();
    await page.getByRole('tab', { name: 'Attachments' }).click();
    const link = page.getByRole('listitem').filter({ hasText: 'page.html' }).getByRole('link');
    const address = new URL((await link.getAttribute('href')) ?? '', server.server.localUrl).href;
    const download = page.waitForEvent('download');
    await link.click();
    expect((await download).suggestedFilename()).toBe('page.html');
    // Opened by itself it is refused, as everything is that does not come from the dashboard.
    const answer = await page.goto(address);
    expect(answer?.headers()['content-type']).toContain('json');
    expect(asked).toEqual([]);
    expect(await page.title()).not.toBe('ran');
  });

  it('loads pictures, and nothing else, once they are allowed', async () => {
    const { page } = await opened();
    // Asked for while the click is still being done.
    const pixel = page.waitForRequest(`${evil}/pixel`);
    await page.getByRole('button', { name: 'Show once' }).click();
    await pixel;
    await page.frameLocator('iframe').getByText('Still readable').waitFor();
    const pictures = ['/pixel', '/background', '/svg', '/poster'];
    expect(asked.filter((one) => !pictures.includes(one))).toEqual([]);
    expect(await page.title()).not.toBe('ran');
    await page.reload();
    await page.getByText('Pictures from elsewhere are blocked').waitFor();
  });
});

/** A PDF document whose script and link want to be opened with it. */
function documentThatActs(evil: string): string {
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /JavaScript /JS (app.alert\\(1\\); this.submitForm\\("EVIL/form"\\);) >> /AA << /WC 4 0 R >> >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /AA << /O 4 0 R >> /Annots [5 0 R] >>',
    '<< /S /URI /URI (EVIL/opened) >>',
    '<< /Type /Annot /Subtype /Link /Rect [0 0 200 200] /A 4 0 R >>',
  ].map((text, i) => `${i + 1} 0 obj\n${text.replace('EVIL', evil)}\nendobj\n`);
  let at = '%PDF-1.7\n'.length;
  const places = objects.map((text) => {
    const here = at;
    at += text.length;
    return `${String(here).padStart(10, '0')} 00000 n \n`;
  });
  return `%PDF-1.7\n${objects.join('')}xref\n0 6\n0000000000 65535 f \n${places.join('')}trailer << /Size 6 /Root 1 0 R >>\nstartxref\n${at}\n%%EOF\n`;
}
