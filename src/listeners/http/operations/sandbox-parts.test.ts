import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codesOf, MAIL, openWorld, type World } from '../test-world.ts';

/** The same by both ways: read where it is asked for, and in a worker. */
describe.each([
  ['on the spot', 100_000_000],
  ['in a worker', 1_000],
])('a captured message, read %s', (_, capturedHereBytes) => {
  let world: World;
  let id: string;
  let sent: string;
  beforeAll(async () => {
    world = await openWorld({ options: { capturedHereBytes } });
    sent = await world.sendMail({
      ...MAIL,
      CC: [],
      Sandbox: true,
      HTMLContent: `<p>Code 482913 ${'x'.repeat(2_000)}</p><img src="cid:logo"><script src="https://e.example/x"></script>`,
      Attachments: [
        { Content: 'aGVsbG8=', Filename: 'hello.txt', Type: 'text/plain' },
        {
          Content: 'iVBORw==',
          Filename: 'logo.png',
          Type: 'image/png',
          Disposition: 'inline',
          ContentId: 'logo',
        },
        { Content: 'PHNjcmlwdD4=', Filename: '..evil.html', Type: 'text/html' },
      ],
    });
    await world.captureAll('main');
    const list = (await world.call('GET', '/sandbox/messages')).json() as { Items: { ID: string }[] };
    id = list.Items[0]?.ID ?? '';
  });
  afterAll(() => world.close());

  it('shows what is in it', async () => {
    const detail = (await world.call('GET', `/sandbox/messages/${id}`)).json();
    expect(detail.Codes).toEqual(['482913']);
    expect((detail.Attachments as { Filename: string }[]).map(({ Filename }) => Filename)).toEqual([
      'logo.png',
      'hello.txt',
      '..evil.html',
    ]);
    expect(
      (await world.call('GET', '/sandbox/messages?HasAttachment=true&Text=482913')).json().Items,
    ).toHaveLength(1);
  });

  it('hands its files out one by one, as downloads', async () => {
    const file = await world.call('GET', `/sandbox/messages/${id}/attachments/1`);
    expect([file.status, file.text]).toEqual([200, 'hello']);
    expect(file.headers).toMatchObject({
      'content-type': 'text/plain',
      'content-disposition': `attachment; filename="hello.txt"; filename*=UTF-8''hello.txt`,
      'x-content-type-options': 'nosniff',
    });
    const evil = await world.call('GET', `/sandbox/messages/${id}/attachments/2`);
    expect(evil.text).toBe('<script>');
    expect(evil.headers['content-disposition']).toMatch(/^attachment; filename="evil\.html"/);
    expect(evil.headers['content-security-policy']).toBe("sandbox; default-src 'none'");
    for (const place of ['3', '-1', 'x', '0.5', '99999']) {
      const none = await world.call('GET', `/sandbox/messages/${id}/attachments/${place}`);
      expect([none.status, codesOf(none)]).toEqual([404, [404]]);
    }
  });

  it('is the same page, with the same files, as the message that was sent', async () => {
    const page = await world.call('GET', `/email/${sent}/html`);
    expect(page.text).toBe((await world.call('GET', `/sandbox/messages/${id}/html`)).text);
    expect(page.headers['content-security-policy']).toMatch(/^sandbox; default-src 'none';/);
    const file = await world.call('GET', `/email/${sent}/attachments/2`);
    expect(file.text).toBe('<script>');
    expect(file.headers['content-disposition']).toMatch(/^attachment; filename="evil\.html"/);
    const none = await world.call('GET', `/email/${sent}/attachments/3`);
    expect([none.status, codesOf(none)]).toEqual([404, [404]]);
  });

  it('is a page with its own pictures', async () => {
    const page = await world.call('GET', `/sandbox/messages/${id}/html`);
    expect(page.headers['content-security-policy']).toMatch(/^sandbox; default-src 'none';/);
    expect(page.text).toContain('<img src="data:image/png;base64,iVBORw==">');
  });

  it('loads pictures from elsewhere only where it is asked to', async () => {
    const policy = async (query: string) => {
      const page = await world.call('GET', `/sandbox/messages/${id}/html${query}`);
      expect(page.text).toContain(
        /img-src [^;]+/.exec(page.headers['content-security-policy'] as string)?.[0],
      );
      return page.headers['content-security-policy'];
    };
    expect(await policy('')).toContain('img-src data:;');
    expect(await policy('?RemoteImages=true')).toContain('img-src data: https: http:;');
    expect(await policy('?RemoteImages=true')).toMatch(/^sandbox; default-src 'none';/);
    expect((await world.call('GET', `/sandbox/messages/${id}/html?RemoteImages=x`)).status).toBe(422);
  });

  it('is marked as seen, and not by others', async () => {
    const mark = (body: object, options: object = {}) =>
      world.call('PATCH', '/sandbox/messages', { body, ...options });
    const found = async (query: string) =>
      (
        (await world.call('GET', `/sandbox/messages?${query}`)).json() as { Items: { ID: string }[] }
      ).Items.map((item) => item.ID);
    const unseen = async () =>
      ((await world.call('GET', '/sandbox/inboxes')).json() as { Items: { Unseen: number }[] }).Items.map(
        (item) => item.Unseen,
      );
    const other = { token: world.tokens.other };
    expect((await mark({ Seen: true, IDs: [id] }, other)).json()).toEqual({ Changed: 0 });
    expect([await found('Seen=false'), await unseen()]).toEqual([[id], [1]]);
    expect((await mark({ Seen: true, IDs: [id.toUpperCase()] })).json()).toEqual({ Changed: 1 });
    expect((await world.call('GET', `/sandbox/messages/${id}`)).json().SeenAt).toMatch(/^2/);
    expect([await found('Seen=true'), await unseen()]).toEqual([[id], [0]]);
    expect((await mark({ Seen: false })).json()).toEqual({ Changed: 1 });
    expect((await mark({ Seen: true, IDs: ['none'] })).status).toBe(422);
    expect((await mark({})).status).toBe(422);
  });

  it('is marked with a whole inbox by who may change captured mail, one request at a time', async () => {
    const mark = (body: object, token?: string) =>
      world.call('PATCH', '/sandbox/messages', { body, ...(token === undefined ? {} : { token }) });
    const reader = await world.at.token({
      ...{ domains: ['example.com'], scopes: ['email:read'], expiresInSeconds: 8e7 },
    });
    expect(codesOf(await mark({ Seen: true }, reader))).toEqual([34]);
    expect((await mark({ Seen: true, IDs: [id] }, reader)).status).toBe(200);
    const { markCaptures } = world.store;
    const begun = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    world.store.markCaptures = async (params) => {
      begun.resolve();
      await end.promise;
      return markCaptures.call(world.store, params);
    };
    const first = mark({ Seen: true });
    await begun.promise;
    expect(codesOf(await mark({ Seen: true }))).toEqual([429]);
    end.resolve();
    expect((await first).status).toBe(200);
    world.store.markCaptures = markCaptures;
    expect((await mark({ Seen: true })).status).toBe(200);
  });

  it('belongs to its domain', async () => {
    for (const path of ['html', 'attachments/0']) {
      const { status } = await world.call('GET', `/sandbox/messages/${id}/${path}`, {
        token: world.tokens.other,
      });
      expect(status).toBe(404);
      const narrow = await world.call('GET', `/sandbox/messages/${id}/${path}`, {
        token: world.tokens.narrow,
      });
      expect(codesOf(narrow)).toEqual([34]);
    }
  });
});
