/** Refusals and warnings that say what to write instead, for somebody who writes a first request. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWorld, type World } from '../test-world.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const MAIL = {
  From: { email: 'a@example.com' },
  To: [{ email: 'b@example.net' }],
  Subject: 'Hi',
  ContentType: 'HTML',
  HTMLContent: '<p>Hi</p>',
};
const texts = async (body: object, path = '/email') => {
  const reply = await world.call('POST', path, { body });
  return {
    status: reply.status,
    said: (reply.json().Errors as { Message: string }[]).map((each) => each.Message),
  };
};

describe('a refusal names the fix', () => {
  it.each<[string, object, string]>([
    [
      'a name in email',
      { ...MAIL, From: { email: 'App <a@example.com>' } },
      '{"name": "App", "email": "a@example.com"}',
    ],
    ['a text as From', { ...MAIL, From: 'App <a@example.com>' }, '{"name": "App", "email": "a@example.com"}'],
    ['a text as To', { ...MAIL, To: 'b@example.net' }, '{"email": "b@example.net"}'],
    ['texts in To', { ...MAIL, To: ['b@example.net'] }, '{"email": "b@example.net"}'],
    [
      'no content but text',
      { from: MAIL.From, to: MAIL.To, subject: 'Hi', text: 'Hi' },
      '"text" is not known here: a text goes into PlainContent',
    ],
    ['no content type', { ...MAIL, ContentType: undefined }, 'ContentType is required: HTML or Text'],
    ['nothing at all', {}, 'HTMLContent or PlainContent is required'],
    [
      'two addresses in one',
      { ...MAIL, To: [{ email: 'a@example.net, b@example.net' }] },
      'several addresses are given one by one',
    ],
    [
      'an attachment with a name',
      { ...MAIL, Attachments: [{ Name: 'a.txt', Content: 'aGk=' }] },
      'Filename is required; "name" is not known here',
    ],
    [
      'an attachment by its address',
      { ...MAIL, Attachments: [{ filename: 'a.txt', path: 'https://example.com/a.txt' }] },
      'A path or URL is not fetched',
    ],
    [
      'a template by the name of another service',
      { From: MAIL.From, To: MAIL.To, TemplateAlias: 'welcome', TemplateModel: {} },
      'Subject is required; "TemplateAlias" is not known here: a template is named in TemplateID',
    ],
    [
      'a template that is not there',
      { ...MAIL, TemplateID: 'welcom' },
      'no template "welcom"; see: postrider',
    ],
    [
      'recipients with commas',
      { ...MAIL, To: 'Ada <a@example.net>, b@example.net' },
      'like [{"name": "Ada", "email": "a@example.net"}, {"email": "b@example.net"}]',
    ],
    [
      'a recipient with a comma in the name',
      { ...MAIL, To: '"Doe, Jane" <j@example.net>' },
      'like [{"name": "Doe, Jane", "email": "j@example.net"}]',
    ],
    ['keeping content by a text', { ...MAIL, KeepContent: 'no' }, 'KeepContent must be true or false'],
    ['tags with values', { ...MAIL, Tags: [{ name: 'a', value: 'b' }] }, 'goes into Metadata'],
    ['headers in a list', { ...MAIL, Headers: [{ Name: 'X-A', Value: 'b' }] }, 'like {"X-Order": "1001"}'],
    ['no content but html', { ...MAIL, HTMLContent: undefined, html: 'Hi' }, '"html" is not known here'],
  ])('%s', async (_, body, expected) => {
    const { status, said } = await texts(body);
    expect([status, said.join('\n')]).toEqual([422, expect.stringContaining(expected)]);
  });

  // The names that docs/howto/move-from-another-provider.md has, in one request for each service.
  it.each<[string, string, string]>([
    [
      'Postmark',
      'HtmlBody TextBody Tag TrackOpens TrackLinks MessageStream TemplateAlias TemplateModel',
      'HTMLContent PlainContent Tags Tracking Tracking Priority TemplateID Variables',
    ],
    [
      'Resend',
      'html text reply_to scheduled_at template',
      'HTMLContent PlainContent ReplyTo SendAt TemplateID',
    ],
    [
      'SendGrid',
      'personalizations reply_to_list content categories custom_args send_at template_id substitutions tracking_settings',
      'To ReplyTo HTMLContent Tags Metadata SendAt TemplateID Variables Tracking',
    ],
    [
      'Mailgun',
      'attachment o:tag v:my-var h:X-My-Header o:deliverytime o:testmode o:tracking-opens t:version t:variables recipient-variables',
      'Attachments Tags Metadata Headers SendAt Sandbox Tracking TemplateVersion Variables Variables',
    ],
    [
      'Amazon SES',
      'FromEmailAddress Destination ReplyToAddresses Content EmailTags',
      'From To ReplyTo HTMLContent Metadata',
    ],
  ])('every name of %s, with ours', async (_, theirs, ours) => {
    const names = theirs.split(' ');
    const reply = await world.call('POST', '/email', {
      body: Object.fromEntries(names.map((name) => [name, {}])),
      headers: { prefer: 'handling=strict' },
    });
    const errors = reply.json().Errors as { Name: string; Message: string; Field: string }[];
    const said = errors
      .filter(({ Name }) => Name === 'unknown-property')
      .map(({ Field, Message }) => `${Field.slice(1)}: ${Message}`);
    expect(said.sort()).toEqual(
      ours
        .split(' ')
        .map((name, i) => `${names[i]}: This property is not known; did you mean ${name}?`)
        .sort(),
    );
  });

  it('names the path, the methods and the header that would do', async () => {
    const nowhere = await world.call('GET', '/emails');
    expect([nowhere.status, nowhere.json().Error]).toEqual([404, expect.stringContaining('/api/v1/emails')]);
    const wrong = await world.call('PUT', '/email', { body: {} });
    expect([wrong.status, wrong.json().Error]).toEqual([
      405,
      expect.stringContaining('allowed: GET, HEAD, POST'),
    ]);
    const other = await world.call('POST', '/email/withTemplate', { body: {} });
    expect([other.status, other.json().Error]).toEqual([
      405,
      expect.stringContaining('mail is sent by POST /api/v1/email, also with a template'),
    ]);
    const typed = await world.call('POST', '/email', {
      body: MAIL,
      headers: { 'content-type': 'text/plain' },
    });
    expect([typed.status, typed.json().Error]).toEqual([
      415,
      expect.stringContaining('Content-Type: application/json'),
    ]);
  });

  it.each([
    ['a bare token', (token: string) => token, 'The word Bearer is missing'],
    ['another scheme', (token: string) => `Basic ${token}`, 'The word Bearer is missing'],
    ['no token', () => '', 'A token in another header is not read'],
    ['nothing after the scheme', () => 'Bearer ', 'There is no token after the word Bearer'],
    ['the scheme twice', (token: string) => `Bearer Bearer ${token}`, 'spaces'],
    ['a token in quotation marks', (token: string) => `Bearer "${token}"`, 'quotation marks'],
    ['a tab after the scheme', (token: string) => `Bearer\t${token}`, 'is not a token'],
    ['a token that was cut off', (token: string) => `Bearer ${token.slice(0, -4)}`, 'it is incomplete'],
  ])('says what is wrong with %s, without repeating it', async (_, header, expected) => {
    const reply = await world.call('GET', '/me', { headers: { authorization: header(world.tokens.own) } });
    expect([reply.status, reply.json().Error]).toEqual([401, expect.stringContaining(expected)]);
    expect(reply.text).not.toContain(world.tokens.own.slice(0, -4));
  });
});

// A large request is read in a worker.
describe.each([
  ['small', {}],
  ['large', { PlainContent: 'x'.repeat(300_000) }],
])('a member that is not known, in a %s request,', (_, more) => {
  it('is named in a header of the answer, with what was meant', async () => {
    const body = { ...MAIL, ...more, Subjct: 'x', 'a"\u2028b': 1 };
    const sent = await world.call('POST', '/email', { body });
    expect([sent.status, sent.headers['x-postrider-ignored']]).toEqual([
      200,
      '"Subjct";meant="Subject", "a??b"',
    ]);
    const within = {
      Tracking: { Open: true },
      CC: [{ email: 'c@example.net', nmae: 'C', text: 'x' }],
      Attachments: [{ Content: 'aGk=', Filename: 'a.txt', Dispositon: 'attachment' }],
    };
    const inner = await world.call('POST', '/email', { body: { ...MAIL, ...more, ...within } });
    expect([inner.status, inner.headers['x-postrider-ignored']]).toEqual([
      200,
      '"CC/0/nmae", "CC/0/text", "Attachments/0/Dispositon";meant="Disposition", "Tracking/Open";meant="Opens"',
    ]);
    const strict = await world.call('POST', '/email', {
      body: { ...MAIL, ...more, ...within },
      headers: { prefer: 'handling=strict' },
    });
    expect(strict.text).toContain('This property is not known; did you mean Disposition?');
    const clean = await world.call('POST', '/email', { body: { ...MAIL, ...more, subject: null } });
    expect(clean.headers['x-postrider-ignored']).toBeUndefined();
  });

  it('is a warning of validate, as are pictures that nobody would see', async () => {
    const HTMLContent =
      '<img src="cid:logo"><img src=cid:there><img src="/img/a.png"><img src="https://x.example/b.png"><td background="c.gif">';
    const Attachments = [
      { Filename: 'a.png', Type: 'image/png', Content: 'aGk=', ContentId: 'there', Disposition: 'inline' },
    ];
    const reply = await world.call('POST', '/email/validate', {
      body: { ...MAIL, ...more, HTMLContent, Attachments, Atachments: [] },
    });
    const found = (reply.json().Warnings as { Name: string; Message: string }[]).filter(({ Name }) =>
      ['unknown-property', 'cid-missing', 'relative-address'].includes(Name),
    );
    expect(found).toEqual([
      expect.objectContaining({
        Name: 'unknown-property',
        Message: expect.stringContaining('did you mean Attachments?'),
      }),
      expect.objectContaining({ Name: 'cid-missing', Message: expect.stringContaining('cid:logo') }),
      expect.objectContaining({ Name: 'relative-address', Message: expect.stringContaining('"/img/a.png"') }),
      expect.objectContaining({ Name: 'relative-address', Message: expect.stringContaining('"c.gif"') }),
    ]);
  });
});

describe('a template', () => {
  it('is found by its name, within the domains of the caller', async () => {
    const made = await world.call('POST', '/templates', {
      body: { Name: 'welcome mail', Subject: 'Hi {{n}}', HTMLContent: '<p>{{n}}</p>' },
    });
    const id = made.json().TemplateID;
    expect((await world.call('GET', '/templates/welcome%20mail')).json()).toMatchObject({ TemplateID: id });
    expect((await world.call('GET', '/templates/unknown')).status).toBe(404);
    const { From, To } = MAIL;
    const sent = await world.call('POST', '/email', {
      body: { From, To, TemplateID: 'welcome mail', Variables: { n: 1 } },
    });
    expect(sent.status, sent.text).toBe(200);
    expect((await texts({ From, To, TemplateID: 'welcome' })).status).toBe(422);
  });
});

describe('what is not there', () => {
  it.each([
    ['GET', '/webhooks/77', 'webhook'],
    ['GET', '/webhooks/x', 'webhook'],
    ['GET', '/email/abc', 'message'],
    ['GET', '/email/abc/attachments/0', 'message'],
    ['POST', '/email/abc/cancel', 'message'],
    ['DELETE', '/domains/nowhere.example', 'domain'],
    ['GET', '/templates/abc', 'template'],
    ['GET', '/sandbox/messages/abc', 'captured mail'],
    ['GET', '/suppressions/nobody@example.net', 'suppressed address'],
    ['DELETE', '/tokens/abc', 'token'],
  ])('%s %s says that there is no such %s', async (method, path, noun) => {
    const { status, json } = await world.call(method, path);
    const message = `There is no such ${noun}, or you may not see it`;
    expect([status, json().Errors]).toEqual([404, [{ Code: 404, Name: 'not-found', Message: message }]]);
  });
});

it('a token without domains is told that it needs some', async () => {
  const { tokens } = world;
  const { status, json } = await world.call('POST', '/tokens', {
    body: { Name: 'shop' },
    token: tokens.admin,
  });
  expect([status, json().Errors]).toMatchObject([
    403,
    [
      {
        Message: 'Name the domains in Domains: only a token with the scope admin has all of them ("*")',
        Field: '/Domains',
      },
    ],
  ]);
});
