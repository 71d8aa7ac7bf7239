/**
 * No request of one tenant keeps the server from answering the others: every operation of the API is asked for with the
 * largest and strangest bodies and over the worst stored data that it takes, and the longest stretch of work without a return
 * to the event loop is measured in processor time of that thread, the shortest of some tries. An operation without an entry
 * here fails the test.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { createAskingThread } from '../fakes/asking-thread.ts';
import { longestTurnMs } from '../fakes/thread-cpu.ts';
import { addDomain, email, fileScope, type Instance, startInstance } from '../scenarios/harness.ts';

const LIMIT_MS = 50;
const TRIES = 5;
const SMALL_BODY = 512 * 1024;
/** Up to here a message is read on the event loop. */
const LOOP_BODY = 256 * 1024;

interface Asking {
  params?: Record<string, string | number>;
  query?: string;
  /** JSON, or as it is. */
  body?: object | string | Uint8Array;
}

const scope = fileScope();
const asker = createAskingThread();
scope.defer(asker.end);
let server: Instance;
let token: string;
let operations: { id: string; method: string; path: string; takesBody: boolean }[];
let worst: Record<string, readonly Asking[]>;

/** Whole repetitions only. */
const text = (length: number, of = 'x') => of.repeat(Math.floor(length / of.length));
const many = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));

/** Bodies that no operation expects, as large as they may be. */
const HOSTILE: Readonly<Record<string, string>> = {
  deep: `{"Name":${text(SMALL_BODY / 2 - 20, '[')}${text(SMALL_BODY / 2 - 20, ']')}}`,
  'many members': JSON.stringify(Object.fromEntries(many(30_000, (i) => [`member${i}`, 1]))),
  'list of lists': `{"Items":[${text(SMALL_BODY - 100, '[],')}[]]}`,
  escapes: `{"Name":"${text(SMALL_BODY - 100, '\\u0041')}"}`,
};

beforeAll(async () => {
  server = await startInstance(scope, {
    settings: { 'max-recipients': '1000', 'stored-bytes': 'off', 'log-level': 'warn' },
  });
  token = await addDomain(server, 'example.com', { Preset: 'Full' });
  const { paths } = (await server.call('GET', '/openapi.json')).json;
  // biome-ignore lint/suspicious/noExplicitAny: the document is looked at as a reader without types does
  operations = Object.entries<any>(paths).flatMap(([path, item]) =>
    // biome-ignore lint/suspicious/noExplicitAny: as above
    Object.entries<any>(item)
      .filter(([method, { security }]) => method !== 'servers' && security.length > 0)
      .map(([method, { operationId: id, requestBody }]) => ({
        id,
        method: method.toUpperCase(),
        path,
        takesBody: requestBody !== undefined,
      })),
  );
  // What removes something comes last.
  operations.sort((a, b) => Number(REMOVES.test(a.id)) - Number(REMOVES.test(b.id)));
  worst = await everyOperation();
}, 240_000);

it('every operation has an entry', () => {
  const names = operations.map(({ id }) => id);
  expect(
    names.filter((id) => worst[id] === undefined),
    'add to `everyOperation` the largest request that each of these takes, or {} where it takes no input',
  ).toEqual([]);
  expect(Object.keys(worst).filter((id) => !names.includes(id))).toEqual([]);
});

it('what holds it would be seen', async () => {
  const work = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    const begun = process.threadCpuUsage();
    for (let used = 0; used < 2 * LIMIT_MS * 1000; ) used = process.threadCpuUsage(begun).user;
    await new Promise((resolve) => setImmediate(resolve));
  };
  expect(await longestTurnMs(work)).toBeGreaterThan(LIMIT_MS);
});

describe('no request holds the event loop', () => {
  it('above 50 ms, whatever it asks or brings', { timeout: 600_000 }, async () => {
    const slow: string[] = [];
    for (const operation of operations) {
      const asked: [string, Asking][] = (worst[operation.id] ?? []).map((asking, i) => [
        `worst ${i}`,
        asking,
      ]);
      const params = asked[0]?.[1].params;
      if (operation.takesBody)
        for (const [name, body] of Object.entries(HOSTILE))
          asked.push([name, { body, ...(params === undefined ? {} : { params }) }]);
      for (const [name, asking] of asked) {
        const found = await held(operation, asking);
        if (found.ms > LIMIT_MS)
          slow.push(`${operation.id} (${name}): ${found.ms.toFixed(0)} ms, ${found.answer}`);
      }
    }
    expect(slow).toEqual([]);
  });
});

describe('no mail by SMTP holds the event loop', () => {
  it.each([
    [
      'of 25 MB with a key',
      'X-Postrider-Idempotency-Key: k1\r\n',
      'Hello there, this is a line of text.\r\n',
    ],
    [
      'of 25 MB in eight bits',
      'Content-Type: text/plain; charset=utf-8\r\n',
      'Gr\u00fc\u00dfe an alle, die das lesen.\r\n',
    ],
    ['of empty lines', '', '\r\n'],
    [
      'of links',
      'MIME-Version: 1.0\r\nContent-Type: text/html\r\n',
      '<a href="https://example.com/">x</a>\r\n',
    ],
    ['of parts', 'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n', '--b\r\n\r\n'],
  ])('%s', async (_, head, line) => {
    const dev = await startInstance(scope, { mode: 'dev', settings: { 'log-level': 'warn' } });
    const header = `From: a@example.com\r\nTo: b@example.net\r\nSubject: x\r\n${head}\r\n`;
    const message = Buffer.concat([Buffer.from(header), Buffer.from(text(24_000_000 / 1.1, line))]);
    const port = dev.server.submission.plain?.port ?? 0;
    let ms = Number.POSITIVE_INFINITY;
    for (let n = 0; n < TRIES && ms > LIMIT_MS; n += 1) {
      const told = asker.submit({ port, message });
      ms = Math.min(
        ms,
        await longestTurnMs(async () => {
          expect(await told).toMatch(/^250 2\.6\.0/);
        }),
      );
    }
    await dev.stop();
    expect(ms).toBeLessThan(LIMIT_MS);
  });
});

async function held(operation: { id: string; method: string; path: string }, asking: Asking) {
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name) =>
    encodeURIComponent(asking.params?.[name] ?? 'none'),
  );
  const { body } = asking;
  const bytes =
    body === undefined
      ? undefined
      : body instanceof Uint8Array
        ? body
        : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  let ms = Number.POSITIVE_INFINITY;
  let answer = '';
  for (let n = 0; n < TRIES && ms > LIMIT_MS; n += 1) {
    const asked = asker.ask({
      method: operation.method,
      url: `${server.server.localUrl}/api/v1${path}${asking.query === undefined ? '' : `?${asking.query}`}`,
      headers: {
        authorization: `Bearer ${OPERATOR.test(operation.id) ? server.token : token}`,
        ...(bytes === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(bytes === undefined ? {} : { body: bytes }),
    });
    ms = Math.min(
      ms,
      await longestTurnMs(async () => {
        const told = await asked;
        answer = `${told.status} ${told.bytes} ${told.text.slice(0, 90)}`;
      }),
    );
  }
  return { ms, answer };
}

/** About the whole server. */
const OPERATOR =
  /^(?:erasePerson|getWarmup|getConfig|listNodes|runDoctor|listPaths|getSite|tryPath|listHolds|holdQueue|releaseQueue|listOverrides|deleteOverride|listCauses|getCause|resendCause|getQueue)$/;
const REMOVES = /^(?:delete|revoke|erase|cancel)/;

async function everyOperation(): Promise<Record<string, readonly Asking[]>> {
  const make = async (path: string, body: object) => {
    const answer = await server.call('POST', path, { token, body });
    if (answer.status >= 300) throw new Error(`POST ${path} answered ${answer.status}: ${answer.text}`);
    return answer.json;
  };
  const recipients = many(1000, (i) => ({ email: `reader${i}@example.net`, name: `Reader ${i}` }));
  const file = (size: number) => ({
    Content: Buffer.alloc(size, 65).toString('base64'),
    Type: 'text/plain',
    Filename: 'a.txt',
  });
  const Metadata = Object.fromEntries(many(20, (i) => [`k${i}`, text(100)]));
  const Tags = many(10, (i) => `tag${i}`);
  const SendAt = new Date(Date.now() + 7_200_000).toISOString();
  const sent = await server.send(
    {
      To: recipients,
      Metadata,
      Tags,
      SendAt,
      HTMLContent: text(200_000, '<p>Hello <a href="https://example.com/a">there</a></p>'),
    },
    { token },
  );
  // Captured mail of hostile shapes.
  const shapes = [
    text(3_000, '\r\n'),
    text(3_500, '<a href='),
    text(3_500, '&#'),
    text(3_500, '<'),
    text(200_000, '\r\n'),
    text(200_000, '<a href="https://example.com/x">12345</a>'),
    text(200_000, '1 2 3-'),
    text(1_000_000, '<table><tr><td>'),
  ];
  for (const shape of shapes) await server.settled(await server.send({ HTMLContent: shape }, { token }));
  await server.settled(
    await server.send(
      { Attachments: many(30, (i) => ({ ...file(500_000), Filename: `${text(100, '.')}${i}` })) },
      { token },
    ),
  );
  await make('/email/batch', {
    Messages: many(100, (i) =>
      email({ Subject: text(900), To: [{ email: `r${i}@example.net` }], Metadata, Tags }),
    ),
  });
  const captures: { ID: string }[] = (await server.call('GET', '/sandbox/messages?Limit=100', { token })).json
    .Items;
  const hook = (await make('/webhooks', { Event: 'all', WebhookURL: 'https://hooks.example.org/a' }))
    .NewWebhookID;
  const section = '{{#items}}{{#items}}{{name}}{{/items}}{{/items}}';
  const loops = (
    await make('/templates', { Name: 'loops', Subject: 'x', HTMLContent: section, PlainContent: section })
  ).TemplateID;
  const large = (
    await make('/templates', {
      Name: 'large',
      Subject: 'x',
      PlainContent: `${text(350_000, 'word ')}${text(60_000, 'word {{name}} ')}`,
    })
  ).TemplateID;
  await make('/suppressions', {
    Items: many(1000, (i) => ({ Email: `gone${i}@example.net`, Note: text(200) })),
  });
  const rule = (await make('/sandbox/rules', { Recipient: '*@x.test', Result: 'Defer' })).RuleID;
  const made = (await make('/tokens', { Name: 'child' })).TokenID;
  const credential = (await make('/smtp-credentials', { Name: 'child' })).CredentialID;

  const id = (value: string | number, ...more: Omit<Asking, 'params'>[]): Asking[] =>
    (more.length === 0 ? [{}] : more).map((asking) => ({ params: { id: value }, ...asking }));
  const each = captures.slice(0, 100).filter((_, i) => i % 9 === 0 || i > 85);
  const list = (...queries: string[]): Asking[] => [
    { query: 'Limit=100' },
    ...queries.map((query) => ({ query: `Limit=100&${query}` })),
  ];
  const none: Asking[] = [{}];
  const html = (unit: string) => email({ HTMLContent: text(LOOP_BODY - 5_000, unit) });
  const mails: Asking[] = [
    ...[
      '<p>Hello</p>',
      '<a href="https://example.com/a?b=c">x</a>',
      '<',
      '&#',
      '<!--',
      '\r\n',
      'a\u00e9 ',
      '<img src="a">',
      '<b><i>',
    ].map((unit) => ({ body: html(unit.replaceAll('"', "'")) })),
    { body: email({ To: recipients }) },
    {
      body: email({
        Headers: many(20, (i) => ({ name: `X-H${i}`, value: text(900) })),
        Tags,
      }),
    },
    { body: email({ Attachments: [file(180_000)] }) },
    { body: email({ Attachments: [file(17_000_000)] }) },
    { body: email({ HTMLContent: text(3_000_000, "<a href='https://example.com/'>x</a>") }) },
    { body: email({ PlainContent: text(3_000_000, 'a\u00e9\n') }) },
    {
      body: email({
        TemplateID: loops,
        HTMLContent: undefined,
        ContentType: undefined,
        Subject: undefined,
        Variables: { items: many(90, (i) => ({ name: `n${i}` })) },
      }),
    },
    {
      body: email({
        TemplateID: large,
        HTMLContent: undefined,
        ContentType: undefined,
        Subject: undefined,
        Variables: { name: text(100) },
      }),
    },
    { body: email(Object.fromEntries(many(10_000, (i) => [`Member${i}`, 1]))) },
    { body: email({ Subject: text(LOOP_BODY - 2000) }) },
    { body: email({ To: many(3_000, () => ({ email: text(50) })) }) },
  ];
  const texts = { Subject: 'x' };
  const templates: { body: object }[] = [
    { body: { ...texts, HTMLContent: `${text(400_000, '<p>text</p>')}${text(60_000, '<p>{{name}}</p>')}` } },
    { body: { ...texts, HTMLContent: text(40_000, '{{#a}}<p>{{b}}</p>{{/a}}') } },
    { body: { ...texts, PlainContent: text(500_000, '{{#a}}') } },
    { body: { ...texts, HTMLContent: text(30_000, '<a href="') } },
  ];
  const Since = '2020-01-01T00:00:00Z';
  return {
    sendEmail: mails,
    // Read a second time, for what is likely not meant.
    validateEmail: mails.slice(0, 13),
    sendEmailBatch: [
      { body: { Messages: many(100, () => email({ HTMLContent: text(2_000, '<p>Hello</p>') })) } },
      { body: { Messages: many(100, () => email({ HTMLContent: text(250_000, '<p>Hello</p>') })) } },
      { body: { Messages: many(100, () => email({ To: recipients.slice(0, 100) })) } },
      { body: { Messages: many(100_000, () => 1) } },
    ],
    listEmails: list('Subject=none', 'To=none@example.net', 'Tag=tag1', 'Metadata.k1=none', 'Status=Bounced'),
    getEmail: id(sent),
    listEmailEvents: id(sent, { query: 'Limit=100' }),
    getEmailSource: [{ params: { id: sent } }],
    getEmailPage: id(sent),
    getEmailAttachment: [{ params: { id: sent, place: 0 } }],
    rescheduleEmail: id(sent, { body: { SendAt } }),
    retryEmail: id(sent),
    cancelEmail: id(sent),
    listEvents: list('Recipient=none@example.net', 'Tag=none', 'StartFrom=100000'),
    streamEvents: [],
    getStats: [
      { query: 'GroupBy=RecipientDomain&IncludeSandbox=true' },
      { query: 'GroupBy=Tag&IncludeSandbox=true' },
    ],
    listWebhooks: list(),
    createWebhook: [
      {
        body: { Event: 'bounce', WebhookURL: `https://hooks.example.org/${text(900)}` },
      },
    ],
    getWebhook: id(hook),
    updateWebhook: id(hook, { body: { Description: text(256) } }),
    rotateWebhookSecret: id(hook),
    testWebhook: id(hook),
    replayWebhook: id(hook, { body: { Since } }),
    listWebhookCalls: id(hook, { query: 'Limit=100' }),
    deleteWebhook: id(hook),
    listDomains: list(),
    createDomain: [{ body: { Domain: text(500_000, 'a.') } }],
    getDomain: [{ params: { name: 'example.com' } }],
    updateDomain: [{ params: { name: 'example.com' }, body: { TrackingHost: text(500_000, 'a.') } }],
    rotateDkimKey: [{ params: { name: 'example.com' } }],
    verifyDomain: [{ params: { name: 'example.com' } }],
    deleteDomain: [{ params: { name: 'nowhere.example' } }],
    listSuppressions: list('Reason=Complaint', 'Email=none@example.net'),
    addSuppressions: [
      {
        body: {
          Items: many(1000, (i) => ({
            Email: `${text(40)}${i}@example.net`,
            Note: text(200),
          })),
        },
      },
      { body: { Items: many(10_000, () => ({ Email: text(40, '@') })) } },
    ],
    getSuppression: [{ params: { email: 'gone1@example.net' } }, { params: { email: text(7_000, '@') } }],
    deleteSuppression: [{ params: { email: 'gone1@example.net' } }],
    listTemplates: list('Name=none'),
    createTemplate: templates.map(({ body }, i) => ({ body: { Name: `n${i}`, ...body } })),
    getTemplate: id(large),
    updateTemplate: id(large, ...templates),
    renderTemplate: [
      ...id(loops, { body: { Variables: { items: many(90, (i) => ({ name: `n${i}` })) } } }),
      ...id(large, { body: { Variables: { name: text(300), more: text(400_000) } } }),
    ],
    deleteTemplate: id(large),
    listRefusals: list(),
    listTokens: list(),
    createToken: [
      {
        body: {
          Name: 'n',
          Domains: ['example.com'],
          IPAllowList: many(100, () => '10.0.0.0/8'),
        },
      },
    ],
    getToken: id(made),
    rotateToken: id(made, { body: { Overlap: 1 } }),
    revokeToken: id(made),
    getMe: none,
    listSmtpCredentials: list(),
    createSmtpCredential: [{ body: { Name: text(100) } }],
    deleteSmtpCredential: id(credential),
    listCaptures: list('Text=none', 'Subject=none', 'To=none@example.net', 'HasAttachment=true'),
    listInboxes: list(),
    getCapture: each.flatMap(({ ID }) => id(ID)),
    getCaptureSource: each.flatMap(({ ID }) => id(ID)),
    getCapturePage: each.flatMap(({ ID }) => id(ID)),
    getCaptureAttachment: each.flatMap(({ ID }) => [{ params: { id: ID, place: 0 } }]),
    releaseCapture: id(captures[0]?.ID ?? '', { body: {} }),
    waitForCapture: [{ query: 'Timeout=0&Subject=none' }],
    streamCaptures: [],
    markCaptures: [{ body: { Seen: true } }],
    deleteCapture: id(captures[0]?.ID ?? ''),
    deleteCaptures: none,
    listSandboxRules: list(),
    createSandboxRule: [{ body: { Recipient: '*@x.test', Subject: text(200), Result: 'Fail' } }],
    deleteSandboxRule: id(rule),
    deleteSandboxRules: none,
    getQueue: list(),
    erasePerson: [{ body: { Email: 'reader1@example.net' } }],
    getWarmup: none,
    getConfig: none,
    listNodes: none,
    runDoctor: none,
    listPaths: none,
    getSite: [{ params: { site: text(5_000, 'a.') } }],
    tryPath: [{ params: { site: text(5_000, 'a.') } }],
    listHolds: none,
    holdQueue: [{ body: { SenderDomain: 'nobody.example', Reason: text(200) } }],
    releaseQueue: [{ body: { SenderDomain: text(500_000, 'a.') } }],
    listOverrides: none,
    deleteOverride: id('none'),
    listCauses: list(),
    getCause: id(1),
    resendCause: id(1, { body: {} }),
  };
}
