/**
 * What five clients of the hosted service really send, and what they need to read back (their documented habits, not
 * their code): only the base URL differs. Each sends mail with a file, reads an error, and uses webhooks and events.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type Answer,
  addDomain,
  fileScope,
  type Instance,
  request,
  startInstance,
  until,
} from './harness.ts';

const scope = fileScope();
const FILE = Buffer.from('%PDF-1.4 a file').toString('base64');
let server: Instance;
let token: string;

beforeAll(async () => {
  server = await startInstance(scope);
  token = await addDomain(server, 'example.com');
});

/** Sends the body's text just as the client would. */
const send = (body: object, headers: Record<string, string> = {}, path = '/email') =>
  server.call('POST', path, { token, body: JSON.stringify(body), headers });

async function captureOf(answer: Answer) {
  expect(answer.status).toBe(200);
  const { MessageID } = answer.json;
  const found = await until('the mail is captured', async () => {
    const list = (await server.call('GET', '/sandbox/messages?Limit=100')).json.Items;
    return list.find((item: { MessageID: string }) => item.MessageID === MessageID);
  });
  return (await server.call('GET', `/sandbox/messages/${found.ID}`)).json;
}

const CLIENTS = {
  'the Node client (ContentID with a capital D, numbers up to 2^32-1)': {
    headers: { 'content-type': 'application/json', 'user-agent': 'node-client' },
    path: '/email',
    body: {
      From: { name: 'S', email: 'sender@example.com' },
      To: [{ name: 'R', email: 'r1@example.net' }],
      Subject: 'From Node',
      ContentType: 'HTML',
      HTMLContent: '<img src="cid:4294967295">',
      Attachments: [
        { Content: FILE, Type: 'image/png', Filename: 'p.png', Disposition: 'inline', ContentID: 4294967295 },
      ],
    },
    contentId: '4294967295',
  },
  'the Go client (ContentId as a number, empty lists left out)': {
    headers: { 'content-type': 'application/json' },
    path: '//email',
    body: {
      From: { email: 'sender@example.com', name: 'S' },
      To: [{ email: 'r2@example.net' }],
      Subject: 'From Go',
      ContentType: 'HTML',
      HTMLContent: '<p>x</p>',
      Attachments: [
        {
          Content: FILE,
          Type: 'application/pdf',
          Filename: 'p.pdf',
          Disposition: 'attachment',
          ContentId: 12,
        },
      ],
    },
    contentId: '12',
  },
  'the Python client (ContentId from hash(): negative and beyond 2^53)': {
    headers: { 'content-type': 'application/json', accept: '*/*' },
    path: '/email',
    // Written as text below: no JavaScript number can hold it.
    body: {
      From: { name: null, email: 'sender@example.com' },
      To: [{ name: null, email: 'r3@example.net' }],
      CC: null,
      Subject: 'From Python',
      ContentType: 'HTML',
      HTMLContent: '<p>x</p>',
      Attachments: [
        {
          Content: FILE,
          Type: 'application/pdf',
          Filename: 'p.pdf',
          Disposition: 'attachment',
          ContentId: 'HASH',
        },
      ],
    },
    contentId: '-8839064797231613815',
  },
  'the PHP client (a trailing slash, ContentId as a number)': {
    headers: { 'content-type': 'application/json; charset=utf-8' },
    path: '/email/',
    body: {
      From: { name: '', email: 'sender@example.com' },
      To: [{ name: '', email: 'r4@example.net' }],
      Subject: 'From PHP',
      ContentType: 'HTML',
      HTMLContent: '<p>x</p>',
      PlainContent: '',
      Tags: [],
      Attachments: [
        {
          Content: FILE,
          Type: 'application/pdf',
          Filename: 'p.pdf',
          Disposition: 'attachment',
          ContentId: 1,
        },
      ],
    },
    contentId: '1',
  },
  'the WordPress plugin (Cc and Bcc, {Email,Name}, "html", ContentId as text, X-Mailer)': {
    headers: { 'content-type': 'application/json' },
    path: '/email',
    body: {
      From: { Email: 'sender@example.com', Name: 'Site' },
      To: [{ Email: 'r5@example.net', Name: 'R' }],
      Cc: [{ Email: 'cc5@example.net' }],
      Bcc: [{ Email: 'bcc5@example.net' }],
      ReplyTo: [{ Email: 'reply@example.org' }],
      Subject: 'From WordPress',
      ContentType: 'html',
      HTMLContent: '<img src="cid:logo@site">',
      PlainContent: 'text',
      Headers: { 'X-Mailer': 'WPMailSMTP/Mailer/sendlayer 4.2.0' },
      Attachments: [
        {
          Filename: 'logo.png',
          Content: FILE,
          Type: 'image/png',
          Disposition: 'inline',
          ContentId: 'logo@site',
        },
      ],
    },
    contentId: 'logo@site',
  },
} as const;

describe.each(Object.entries(CLIENTS))('%s', (_name, client) => {
  it('sends mail with a file, whose content id arrives unchanged', async () => {
    const text = JSON.stringify(client.body).replace('"HASH"', '-8839064797231613815');
    const answer = await request('POST', `${server.server.localUrl}/api/v1${client.path}`, {
      token,
      body: text,
      headers: client.headers,
    });
    const copy = await captureOf(answer);
    expect(copy.Subject).toBe(client.body.Subject);
    expect(copy.Attachments).toHaveLength(1);
    expect(copy.Attachments[0]).toMatchObject({ ContentId: client.contentId, Size: 15 });
  });

  it('is told what is wrong in the member it reads', async () => {
    const { Subject: _left, ...rest } = client.body;
    const text = JSON.stringify(rest).replace('"HASH"', '1');
    const answer = await server.call('POST', '/email', { token, body: text, headers: client.headers });
    expect(answer.status).toBe(422);
    expect(answer.json.Error).toBe('Subject is required');
    expect(answer.json.Errors[0].Code).toBe(8);
  });
});

describe('text mail as clients send it', () => {
  it.each([
    ['an SDK', { ContentType: 'Text', PlainContent: 'just text' }],
    ['the WordPress plugin', { ContentType: 'plain', PlainContent: 'just text' }],
    ['a reader of media types', { ContentType: 'text/plain', PlainContent: 'just text' }],
  ])('%s', async (_who, fields) => {
    const copy = await captureOf(
      await send({
        From: { email: 's@example.com' },
        To: [{ email: 'r@example.net' }],
        Subject: 'T',
        ...fields,
      }),
    );
    expect(copy.PlainContent.trim()).toBe('just text');
    expect(copy.HTMLContent).toBe('');
  });

  it('takes an empty ContentId as none', async () => {
    const file = {
      Filename: 'a.txt',
      Content: FILE,
      Type: 'text/plain',
      Disposition: 'attachment',
      ContentId: '',
    };
    const copy = await captureOf(
      await send({
        From: { Email: 's@example.com' },
        To: [{ Email: 'r@example.net' }],
        Subject: 'T',
        ContentType: 'plain',
        PlainContent: 'x',
        Attachments: [file],
      }),
    );
    expect(copy.Attachments[0]).toMatchObject({ Filename: 'a.txt', ContentId: '' });
  });
});

describe('what clients read back', () => {
  it('an error has a top-level Error, an Errors list and the problem members at once', async () => {
    for (const [given, status] of [
      [{ token: null }, 401],
      [{ token: 'not.a.token' }, 401],
      [{ token, body: '{' }, 400],
      [{ token, body: {} }, 422],
    ] as const) {
      const answer = await server.call('POST', '/email', { body: {}, ...given });
      expect(answer.status).toBe(status);
      expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
      expect(typeof answer.json.Error).toBe('string');
      expect(answer.json.Errors[0]).toMatchObject({ Code: expect.any(Number), Name: expect.any(String) });
      expect(answer.json).toMatchObject({
        type: expect.stringContaining(`/api/v1/problems/${answer.json.Errors[0].Name}`),
        title: expect.any(String),
        status,
        detail: expect.any(String),
        instance: expect.stringMatching(/^urn:uuid:/),
      });
      if (status === 401) expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer realm="api"/);
    }
  });

  it('the problem type is a page that can be opened', async () => {
    const answer = await server.call('POST', '/email', { token, body: {} });
    const page = await request('GET', answer.json.type);
    expect(page.status).toBe(200);
  });

  it('the webhook calls of the Node and Python clients work: int ids, a JSON answer to DELETE', async () => {
    const headers = { 'content-type': 'application/json' };
    const made = await server.call('POST', '/webhooks', {
      token,
      body: { Event: 'open', WebhookURL: 'https://hooks.example.org/' },
    });
    const id: number = made.json.NewWebhookID;
    const gone = await server.call('DELETE', `/webhooks/${id}`, { token, headers });
    expect(gone.json).toEqual({});
  });
});
