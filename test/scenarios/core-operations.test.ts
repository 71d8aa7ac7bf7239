/** The five core operations, byte for byte, as clients of the hosted service expect them. */
import { beforeAll, describe, expect, it } from 'vitest';
import { addDomain, email, fileScope, type Instance, request, startInstance, until } from './harness.ts';

const scope = fileScope();
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const WEBHOOK_FIELDS = [
  'WebhookID',
  'CreatedAt',
  'UpdatedAt',
  'Status',
  'WebhookURL',
  'Event',
  'LastResponseCode',
  'LastResponseBody',
  'LastResponseAt',
  'LastResponseTryCounter',
];
let server: Instance;
let token: string;

beforeAll(async () => {
  server = await startInstance(scope);
  token = await addDomain(server, 'example.com');
});

const post = (body: unknown, headers: Record<string, string> = {}) =>
  server.call('POST', '/email', { token, body, headers });
const captured = async (messageId: string) => {
  const items = await until(`${messageId} is captured`, async () => {
    const list = (await server.call('GET', '/sandbox/messages?Limit=100')).json.Items;
    const own = list.filter((item: { MessageID: string }) => item.MessageID === messageId);
    return own.length > 0 ? own : null;
  });
  return (await server.call('GET', `/sandbox/messages/${items[0].ID}`)).json;
};

describe('POST /email', () => {
  it('answers a request with every field of the specification with one key, a UUID', async () => {
    const answer = await post({
      From: { name: 'Paulie Paloma', email: 'paulie@example.com' },
      To: [
        { name: 'Pattie', email: 'pattie@example.net' },
        { name: 'Second', email: 'second@example.net' },
      ],
      CC: [{ name: 'Copy', email: 'copy@example.net' }],
      BCC: [{ name: 'Blind', email: 'blind@example.net' }],
      ReplyTo: [{ name: 'Answers', email: 'answers@elsewhere.example.org' }],
      Subject: 'This is the email subject',
      ContentType: 'HTML',
      HTMLContent: '<html><body><p>This is a test email.</p></body></html>',
      PlainContent: 'This is a test email.',
      Tags: ['tag-name', 'daily digest, morning'],
      Headers: { 'X-Mailer': 'A mailer', 'X-Test': 'A test' },
      Attachments: [
        {
          Content: Buffer.from('a file').toString('base64'),
          Type: 'image/png',
          Filename: 'file.png',
          Disposition: 'attachment',
          ContentId: '1729202',
        },
      ],
    });
    expect(answer.status).toBe(200);
    const { MessageID } = answer.json;
    expect(MessageID).toMatch(UUID);
    expect(answer.text).toBe(`{"MessageID":"${MessageID}"}`);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(answer.headers.get('location')).toBe(`/api/v1/email/${MessageID}`);
    expect(answer.headers.get('x-request-id')).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    const copy = await captured(MessageID);
    expect(copy.Subject).toBe('This is the email subject');
    expect(copy.Attachments).toEqual([expect.objectContaining({ Filename: 'file.png', Size: 6 })]);
    const names = copy.Headers.map((header: { Name: string }) => header.Name);
    expect(names).toEqual(expect.arrayContaining(['X-Mailer', 'X-Test', 'Reply-To', 'Cc']));
    expect(names).not.toContain('Bcc');
  });

  it.each(['/api/v1//email', '/api/v1/email/', '/api/v1//email/'])('is reached at %s', async (path) => {
    const answer = await request('POST', `${server.server.localUrl}${path}`, { token, body: email() });
    expect(answer.status).toBe(200);
    expect(answer.json.MessageID).toMatch(UUID);
  });

  it.each([
    [
      'another spelling of every name',
      {
        FROM: { NAME: 'S', EMAIL: 's@example.com' },
        to: [{ Email: 'r@example.net' }],
        subject: 'x',
        CONTENTTYPE: 'html',
        htmlcontent: '<p>x</p>',
      },
    ],
    ['no names at all', email({ From: { email: 's@example.com' }, To: [{ email: 'r@example.net' }] })],
    [
      'null for what is absent',
      email({
        CC: null,
        BCC: null,
        ReplyTo: null,
        Tags: null,
        Headers: null,
        Attachments: null,
        PlainContent: null,
      }),
    ],
    [
      'empty lists for what is absent',
      email({ CC: [], BCC: [], ReplyTo: [], Tags: [], Headers: {}, Attachments: [] }),
    ],
    ['properties nobody knows', email({ Colour: 'blue', __proto__: 1 })],
  ])('takes %s', async (_what, body) => {
    expect((await post(body)).status).toBe(200);
  });

  it('takes a byte order mark, a missing content type, a +json type, and a compressed body', async () => {
    const { gzipSync } = await import('node:zlib');
    const text = JSON.stringify(email());
    expect((await post(`\ufeff${text}`)).status).toBe(200);
    expect(
      (await post(new TextEncoder().encode(text), { 'content-type': 'application/vnd.api+json' })).status,
    ).toBe(200);
    expect((await post(gzipSync(text), { 'content-encoding': 'gzip' })).status).toBe(200);
  });

  it('sends text mail without HTMLContent, and makes the text from HTML where only that is given', async () => {
    const text = await post(
      email({ ContentType: 'Text', HTMLContent: undefined, PlainContent: 'Only text\n' }),
    );
    expect(text.status).toBe(200);
    const copy = await captured(text.json.MessageID);
    expect(copy.HTMLContent).toBe('');
    expect(copy.PlainContent.trim()).toBe('Only text');
    const made = await post(email({ ContentType: 'Text', HTMLContent: '<p>From HTML</p>' }));
    expect((await captured(made.json.MessageID)).PlainContent).toContain('From HTML');
  });

  it.each([
    ['absent', undefined, 'Hello'],
    ['empty', '', ''],
    ['given', 'An alternative', 'An alternative'],
  ])('makes the text part of HTML mail from %s PlainContent', async (_what, plain, expected) => {
    const answer = await post(email({ PlainContent: plain }));
    const copy = await captured(answer.json.MessageID);
    expect(copy.PlainContent.trim()).toBe(expected);
    expect(copy.HTMLContent).toContain('<p>Hello</p>');
  });

  it.each([
    [0, '0'],
    ['0', '0'],
    [4294967295, '4294967295'],
    [-5, '-5'],
    ['', ''],
    ['logo@x', 'logo@x'],
    ['<logo@x>', 'logo@x'],
  ])('takes the content id %j', async (given, expected) => {
    const file = {
      Content: 'aGVsbG8=',
      Type: 'image/png',
      Filename: 'a.png',
      Disposition: 'attachment',
      ContentId: given,
    };
    const answer = await post(email({ Attachments: [file] }));
    expect(answer.status).toBe(200);
    expect((await captured(answer.json.MessageID)).Attachments[0].ContentId).toBe(expected);
  });

  it('refuses a content id that is no integer', async () => {
    const file = {
      Content: 'aGVsbG8=',
      Type: 'image/png',
      Filename: 'a.png',
      Disposition: 'attachment',
      ContentId: 1.5,
    };
    const answer = await post(email({ Attachments: [file] }));
    expect(answer.status).toBe(422);
    expect(answer.json.Errors[0]).toMatchObject({ Code: 1507, Field: '/Attachments/0/ContentId' });
  });
});

describe('webhooks', () => {
  it('are made, listed with exactly ten fields in order, and deleted with a JSON answer', async () => {
    const made = await server.call('POST', '/webhooks', {
      token,
      body: { Event: 'Bounced', WebhookURL: 'https://hooks.example.org/a' },
    });
    expect(made.status).toBe(200);
    expect(Object.keys(made.json)).toEqual(['NewWebhookID', 'Secret']);
    expect(Number.isInteger(made.json.NewWebhookID)).toBe(true);
    expect(made.json.Secret).toMatch(/^whsec_[A-Za-z0-9+/]+=*$/);

    const list = await server.call('GET', '/webhooks', { token });
    expect(list.status).toBe(200);
    expect(Object.keys(list.json)).toEqual(['Webhooks']);
    const [record] = list.json.Webhooks;
    expect(Object.keys(record)).toEqual(WEBHOOK_FIELDS);
    expect(record).toMatchObject({
      WebhookID: made.json.NewWebhookID,
      Status: 'Enabled',
      WebhookURL: 'https://hooks.example.org/a',
      Event: 'bounce',
      LastResponseCode: 0,
      LastResponseBody: '',
      LastResponseAt: '1899-11-30T00:00:00.000Z',
      LastResponseTryCounter: 0,
    });
    expect(record.CreatedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(record.UpdatedAt).toBe(record.CreatedAt);

    const gone = await server.call('DELETE', `/webhooks/${made.json.NewWebhookID}`, { token });
    expect([gone.status, gone.text]).toEqual([200, '{}']);
    expect((await server.call('GET', '/webhooks', { token })).text).toBe('{"Webhooks":[]}');
    expect((await server.call('DELETE', `/webhooks/${made.json.NewWebhookID}`, { token })).status).toBe(404);
  });

  it.each([
    ['delivery', 'delivery'],
    ['delivered', 'delivery'],
    ['OPEN', 'open'],
    ['clicked', 'click'],
    ['spam', 'complaint'],
    ['email.unsubscribed', 'unsubscribe'],
    ['*', 'all'],
    ['deferred', 'delay'],
  ])('store the event %s as %s', async (given, kept) => {
    const made = await server.call('POST', '/webhooks', {
      token,
      body: { Event: given, WebhookURL: 'https://hooks.example.org/b' },
    });
    const found = await server.call('GET', `/webhooks/${made.json.NewWebhookID}`, { token });
    expect(found.json.Event).toBe(kept);
    await server.call('DELETE', `/webhooks/${made.json.NewWebhookID}`, { token });
  });

  it('are reached with a JSON content type and an empty body, as some clients send on GET and DELETE', async () => {
    const headers = { 'content-type': 'application/json' };
    expect((await server.call('GET', '/webhooks', { token, headers })).status).toBe(200);
    expect((await server.call('GET', '/events', { token, headers })).status).toBe(200);
    expect((await server.call('DELETE', '/webhooks/999999', { token, headers })).status).toBe(404);
    expect((await server.call('DELETE', '/webhooks/999999/', { token, headers })).status).toBe(404);
  });
});

describe('HTTP around the operations', () => {
  it('answers a wrong method with 405 and Allow, and a wrong path with 404, both with a code', async () => {
    const wrong = await server.call('PUT', '/email', { token, body: {} });
    expect([wrong.status, wrong.json.Errors[0].Code]).toEqual([405, 405]);
    expect(wrong.headers.get('allow')).toBe('GET, HEAD, POST');
    const missing = await server.call('GET', '/nowhere', { token });
    expect([missing.status, missing.json.Errors[0].Code]).toEqual([404, 404]);
  });

  it('has HEAD where it has GET, keeps a request id of the client, and sends no cross-origin headers', async () => {
    const head = await server.call('HEAD', '/webhooks', { token });
    expect([head.status, head.text]).toEqual([200, '']);
    const own = await server.call('GET', '/webhooks', {
      token,
      headers: { 'x-request-id': 'mine-1', origin: 'https://other.example' },
    });
    expect(own.headers.get('x-request-id')).toBe('mine-1');
    expect([...own.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    const strange = await server.call('GET', '/webhooks', { token, headers: { 'x-request-id': 'not ok!' } });
    expect(strange.headers.get('x-request-id')).not.toBe('not ok!');
  });

  it('takes a bearer token from the header only', async () => {
    expect((await server.call('GET', `/webhooks?access_token=${token}`, { token: null })).status).toBe(401);
  });
});
