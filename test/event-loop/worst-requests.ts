/**
 * The worst requests of every operation of the API, over the worst stored data: as much as is accepted, so that the work
 * is really done. A request that is refused is here only where refusing is the most work; it says why.
 */

import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { createFakeDns } from '../fakes/fake-dns.ts';
import { startSmtpSink } from '../fakes/smtp-sink.ts';
import { addDomain, email, type Instance, type Scope, startInstance, until } from '../scenarios/harness.ts';
import { attached, dmarcDocument, handIn } from '../scenarios/returns-kit.ts';

export interface Asking {
  params?: Record<string, string | number>;
  query?: string;
  /** JSON, or as it is. */
  body?: object | string | Uint8Array;
  /** Left out: any status of success. */
  refused?: { status: number; because: string };
  /** A token of the first server; left out: the tenant's. */
  as?: 'operator';
  /** Of the server that sends, as its operator or its tenant. */
  at?: 'sending' | 'sending as tenant';
}

/** A request, or how one is made anew for every try. */
export type Worst = Asking | (() => Promise<Asking>);

export interface Servers {
  /** Captures what is sent; with a tenant's token. */
  capturing: Instance;
  token: string;
  /** Sends to a far end that takes some mail. */
  sending: Instance;
  sendingToken: string;
  /** Of each operation by its id. */
  worst: Record<string, readonly Worst[]>;
}

export const SMALL_BODY = 512 * 1024;
/** Up to here a message is read on the event loop. */
const LOOP_BODY = 256 * 1024;

/** Whole repetitions only. */
export const text = (length: number, of = 'x') => of.repeat(Math.floor(length / of.length));
export const many = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));
/** The headers of so many multiparts, each the first part of the one before. */
export const nested = (kind: string, depth: number) =>
  many(depth, (i) => `Content-Type: multipart/${kind}; boundary=b${i}\r\n\r\n--b${i}\r\n`).join('');

/** Bodies that no operation expects, as large as they may be. */
export const HOSTILE: Readonly<Record<string, string>> = {
  deep: `{"Name":${text(SMALL_BODY / 2 - 20, '[')}${text(SMALL_BODY / 2 - 20, ']')}}`,
  'many members': JSON.stringify(Object.fromEntries(many(30_000, (i) => [`member${i}`, 1]))),
  'list of lists': `{"Items":[${text(SMALL_BODY - 100, '[],')}[]]}`,
  escapes: `{"Name":"${text(SMALL_BODY - 100, '\\u0041')}"}`,
};

/** What the far end says to recipients of a domain; it takes all others. */
const REPLIES: Readonly<Record<string, string>> = {
  'refused.example': '552 5.3.4 Message size exceeds fixed maximum message size',
  'later.example': '451 4.3.0 Temporary lookup failure',
  'limited.example': '421 4.7.0 Too many open connections, come back later',
};
const recipients = many(1000, (i) => ({ email: `reader${i}@example.net`, name: `Reader ${i}` }));
const longNamed = many(1000, (i) => ({ email: `reader${i}@example.net`, name: `${text(240)} ${i}` }));
const Metadata = Object.fromEntries(many(20, (i) => [`k${i}`, text(100)]));
const Tags = many(10, (i) => `tag${i}`);
const laterOn = () => new Date(Date.now() + 7_200_000).toISOString();
const file = (size: number) => ({
  Content: Buffer.alloc(size, 65).toString('base64'),
  Type: 'text/plain',
  Filename: 'a.txt',
});

/** Two servers full of the worst that a tenant may store, and what to ask of them. */
export async function worstRequests(scope: Scope): Promise<Servers> {
  const dns = await createFakeDns();
  scope.defer(() => dns.close());
  // Nobody listens there.
  dns.set('hooks.example.org', { A: ['127.0.0.1'] });
  const settings = {
    'max-recipients': '1000',
    'stored-bytes': 'off',
    'log-level': 'warn',
    'allow-networks': '127.0.0.0/8',
    dns: dns.text,
  };
  const capturing = await startInstance(scope, { settings: { ...settings, returns: '127.0.0.1:0' } });
  const token = await addDomain(capturing, 'example.com', { Preset: 'Full' });
  const limited = new Set<string>();
  const far = await startSmtpSink({
    keepData: false,
    refuse(to) {
      const reply = REPLIES[to.slice(to.indexOf('@') + 1)];
      // A limit is learned once of each: it would be another one the second time.
      if (reply?.startsWith('421') === true && limited.has(to)) return null;
      if (reply?.startsWith('421') === true) limited.add(to);
      return reply ?? null;
    },
  });
  scope.defer(() => far.close());
  const sending = await startInstance(scope, {
    settings: { ...settings, route: `smtp://127.0.0.1:${far.port}` },
  });
  const sendingToken = await addDomain(sending, 'example.com', { Preset: 'Full' });
  // As many reports as one sender may send in a day, each from as many places as are told apart.
  for (let n = 0; n < 100; n += 1) {
    const rows = many(200, (i) => ({ ip: `198.51.${n}.${i}`, dkim: 'fail' as const }));
    const report = attached('application/gzip', gzipSync(dmarcDocument(rows, { id: String(n) })));
    await handIn(scope, capturing.server.returns?.port ?? 0, 'dmarc@mail.postrider.test', report);
  }
  await until('the reports are read', async () => {
    const { json } = await capturing.call('GET', '/domains/example.com/dmarc', { token });
    return json.Reports === 100;
  });
  const worst = await everyOperation({ capturing, token, sending, sendingToken, publish });
  return { capturing, token, sending, sendingToken, worst };

  function publish(records: readonly { Type: string; Host: string; Value: string }[]): void {
    for (const { Type, Host, Value } of records) if (Type === 'TXT') dns.set(Host, { TXT: [Value] });
  }
}

async function everyOperation({
  capturing,
  token,
  sending,
  sendingToken,
  publish,
}: Omit<Servers, 'worst'> & {
  publish(records: readonly { Type: string; Host: string; Value: string }[]): void;
}): Promise<Servers['worst']> {
  const made = async (path: string, body: object, as = token, on = capturing) => {
    const answer = await on.call('POST', path, { token: as, body });
    if (answer.status >= 300) throw new Error(`POST ${path} answered ${answer.status}: ${answer.text}`);
    return answer.json;
  };
  const send = async (overrides: object) =>
    (await made('/email', email(overrides as Record<string, unknown>))).MessageID as string;
  const scheduled = () =>
    send({
      To: recipients,
      Metadata,
      Tags,
      SendAt: laterOn(),
      HTMLContent: text(200_000, '<p>Hello <a href="https://example.com/a">there</a></p>'),
    });
  const sent = await scheduled();

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
  for (const HTMLContent of shapes) await capturing.settled(await send({ HTMLContent }));
  const withFiles = await send({
    Subject: 'files',
    Attachments: many(30, (i) => ({ ...file(500_000), Filename: `${text(100, '.')}${i}` })),
  });
  await capturing.settled(withFiles);
  await made('/email/batch', {
    Messages: many(100, (i) =>
      email({ Subject: text(900), To: [{ email: `r${i}@example.net` }], Metadata, Tags }),
    ),
  });
  const captures: { ID: string; Subject: string }[] = [];
  for (const query of ['Limit=100', 'Limit=100&Subject=files'])
    captures.push(...(await capturing.call('GET', `/sandbox/messages?${query}`, { token })).json.Items);
  const files = captures.find(({ Subject }) => Subject === 'files')?.ID ?? '';
  // A page of events that each name a thousand long names, of one message and of a hundred.
  for (let n = 0; n < 100; n += 1) await send({ To: longNamed, SendAt: laterOn(), Tags: ['long'] });

  await made('/email', email({ To: longNamed, Sandbox: true, Subject: 'long', Tags: ['long'] }));

  const hook = (await made('/webhooks', { Event: 'all', WebhookURL: 'https://hooks.example.org:9/a' }))
    .NewWebhookID;
  const section = '{{#items}}{{#items}}{{name}}{{/items}}{{/items}}';
  const loops = (
    await made('/templates', { Name: 'loops', Subject: 'x', HTMLContent: section, PlainContent: section })
  ).TemplateID;
  const largeTemplate = () => ({
    Name: `large${Math.random()}`,
    Subject: 'x',
    PlainContent: `${text(350_000, 'word ')}${text(60_000, 'word {{name}} ')}`,
  });
  const large = (await made('/templates', largeTemplate())).TemplateID;
  await made('/suppressions', {
    Items: many(1000, (i) => ({ Email: `gone${i}@example.net`, Note: text(200) })),
  });

  // The other server: mail that was refused for a cause, that waits, and captures that may be released.
  const toMany = (domain: string) => many(1000, (i) => ({ email: `reader${i}@${domain}` }));
  const failed = await made('/email', email({ To: toMany('refused.example') }), sendingToken, sending);
  await sending.settled(failed.MessageID);
  const causes: { CauseID: number }[] = (await sending.call('GET', '/causes')).json.Items;
  const cause = causes[0]?.CauseID ?? 0;
  await made('/email', email({ To: toMany('later.example') }), sendingToken, sending);
  await made(
    '/email',
    email({ Sandbox: true, Attachments: [file(10_000_000)], HTMLContent: shapes[5] }),
    sendingToken,
    sending,
  );
  const relay = (await sending.call('GET', '/queue/paths')).json.Items[0].Site as string;
  const toRelease = async () =>
    (await sending.call('GET', '/sandbox/messages', { token: sendingToken })).json.Items[0].ID as string;

  const id = (value: string | number, ...more: Omit<Asking, 'params'>[]): Asking[] =>
    (more.length === 0 ? [{}] : more).map((asking) => ({ params: { id: value }, ...asking }));
  const fresh = (make: () => Promise<string | number>, more: Asking = {}): Worst[] => [
    async () => ({ ...more, params: { id: await make() } }),
  ];
  const each = captures.filter(({ ID }, i) => i % 9 === 0 || i > 85 || ID === files);
  const list = (...queries: string[]): Asking[] => [
    { query: 'Limit=100' },
    ...queries.map((query) => ({ query: `Limit=100&${query}` })),
  ];
  const none: Asking[] = [{}];
  const refused = (status: number, because: string) => ({ refused: { status, because } });
  const operator = { as: 'operator' } as const;
  const atSending = { at: 'sending' } as const;
  const noSession = refused(403, 'it is for sessions, and reads or removes some rows by key');
  const Password = text(256, 'correct horse battery ');
  const manyDomains = many(100, (i) => `d${i}.example`);

  const html = (unit: string) => email({ HTMLContent: text(LOOP_BODY - 5_000, unit) });
  const ofTemplate = (TemplateID: string, Variables: object) => ({
    body: email({
      TemplateID,
      Variables,
      HTMLContent: undefined,
      ContentType: undefined,
      Subject: undefined,
    }),
  });
  const mails: Asking[] = [
    ...[
      '<p>Hello</p>',
      "<a href='https://example.com/a?b=c'>x</a>",
      '<',
      '&#',
      '<!--',
      '\r\n',
      'a\u00e9 ',
      "<img src='a'>",
      '<b><i>',
    ].map((unit) => ({ body: html(unit) })),
    { body: email({ To: recipients }) },
    { body: email({ To: longNamed.map((one, i) => ({ ...one, name: text(150, `${i} `) })) }) },
    { body: email({ Headers: Object.fromEntries(many(50, (i) => [`X-H${i}`, text(300)])), Tags, Metadata }) },
    { body: email({ Attachments: [file(180_000)] }) },
    { body: email({ Attachments: [file(17_000_000)] }) },
    { body: email({ HTMLContent: text(3_000_000, "<a href='https://example.com/'>x</a>") }) },
    { body: email({ PlainContent: text(3_000_000, 'a\u00e9\n') }) },
    ofTemplate(loops, { items: many(90, (i) => ({ name: `n${i}` })) }),
    ofTemplate(large, { name: text(100) }),
    { body: email(Object.fromEntries(many(10_000, (i) => [`Member${i}`, 1]))) },
    {
      ...refused(422, 'a subject as long as a body may be'),
      body: email({ Subject: text(LOOP_BODY - 2000) }),
    },
    {
      ...refused(422, 'each recipient is a problem of its own'),
      body: email({ To: many(3_000, () => ({ email: text(50) })) }),
    },
  ];
  const texts = { Subject: 'x' };
  const templates: Asking[] = [
    { body: { ...texts, HTMLContent: `${text(400_000, '<p>text</p>')}${text(60_000, '<p>{{name}}</p>')}` } },
    { body: { ...texts, HTMLContent: text(40_000, '{{#a}}<p>{{b}}</p>{{/a}}') } },
    { body: { ...texts, PlainContent: text(500_000, 'x') } },
    {
      ...refused(422, 'every tag opens a section that does not end'),
      body: { ...texts, PlainContent: text(500_000, '{{#a}}') },
    },
    { body: { ...texts, HTMLContent: text(30_000, '<a href="') } },
  ];
  let n = 0;
  const domainName = () => `${['a', 'b', 'c'].map((of) => text(60, of)).join('.')}.n${n++}.example`;
  const everySetting = (domain: string) => ({
    Subdomains: true,
    Retention: { ContentDays: 3, EventDays: 30 },
    ReturnPathHost: `bounces.${domain}`,
    TrackingHost: `track.${domain}`,
    Tracking: { Opens: true, Clicks: true },
    ListUnsubscribe: true,
  });
  const newDomain = async () => {
    const Domain = domainName();
    const { DnsRecords } = await made('/domains', { Domain, Verified: true }, capturing.token);
    publish(DnsRecords);
    return Domain;
  };
  const ofNewDomain: Worst[] = [async () => ({ ...operator, params: { name: await newDomain() } })];
  const hold = (i: number) => ({ SenderDomain: `s${i}.example`, Reason: text(400) });
  for (let i = 0; i < 200; i += 1) await made('/queue/hold', hold(i), sending.token, sending);
  const Since = '2020-01-01T00:00:00Z';
  const events = (...queries: string[]): Asking[] =>
    queries.map((query) => ({ query: `RetrieveCount=100&${query}` }));
  return {
    sendEmail: mails,
    validateEmail: mails,
    sendEmailBatch: [
      { body: { Messages: many(100, () => email({ HTMLContent: text(2_000, '<p>Hello</p>') })) } },
      { body: { Messages: many(100, () => email({ HTMLContent: text(250_000, '<p>Hello</p>') })) } },
      { body: { Messages: many(100, () => email({ To: recipients.slice(0, 100) })) } },
      { ...refused(422, 'each item is a problem of its own'), body: { Messages: many(100_000, () => 1) } },
    ],
    listEmails: list('Subject=none', 'To=none@example.net', 'Tag=long', 'Metadata.k1=none', 'Status=Bounced'),
    getEmail: id(sent),
    listEmailEvents: id(sent, { query: 'Limit=100' }),
    getEmailSource: id(sent),
    getEmailPage: id(sent),
    getEmailAttachment: [{ params: { id: withFiles, place: 29 } }],
    resendEmail: id(sent, { body: { To: 'somebody@taken.example' } }),
    rescheduleEmail: id(sent, { body: { SendAt: laterOn() } }),
    retryEmail: fresh(
      async () => {
        const again = await made('/email', email({ To: toMany('refused.example') }), sendingToken, sending);
        await sending.settled(again.MessageID);
        return again.MessageID;
      },
      { at: 'sending as tenant' },
    ),
    cancelEmail: fresh(scheduled),
    listEvents: events(
      `MessageID=${sent}`,
      'Recipient=none@example.net',
      'Tag=none',
      'StartFrom=90000',
      'Tag=long',
    ),
    streamEvents: [],
    getStats: [
      { query: 'GroupBy=RecipientDomain&IncludeSandbox=true' },
      { query: 'GroupBy=Tag&IncludeSandbox=true' },
    ],
    listWebhooks: list(),
    createWebhook: [{ body: { Event: 'bounce', WebhookURL: `https://hooks.example.org:9/${text(900)}` } }],
    getWebhook: id(hook),
    updateWebhook: id(hook, { body: { Description: text(256) } }),
    rotateWebhookSecret: id(hook),
    testWebhook: id(hook),
    replayWebhook: id(hook, { body: { Since } }),
    listWebhookCalls: id(hook, { query: 'Limit=100' }),
    getWebhookCall: [{ params: { id: hook, call: 1 } }],
    deleteWebhook: fresh(
      async () =>
        (await made('/webhooks', { Event: 'all', WebhookURL: 'https://hooks.example.org:9/b' })).NewWebhookID,
    ),
    listDomains: list('Search=none', 'Search=example'),
    createDomain: [
      async () => {
        const Domain = domainName();
        return { ...operator, body: { Domain, ...everySetting(Domain) } };
      },
      { ...refused(422, 'a name as long as a body may be'), body: { Domain: text(500_000, 'a.') } },
    ],
    getDomain: [{ params: { name: 'example.com' } }],
    getDmarc: [{ params: { name: 'example.com' }, query: 'Days=90' }],
    updateDomain: [
      { params: { name: 'example.com' }, body: everySetting('example.com') },
      {
        ...refused(422, 'a name as long as a body may be'),
        params: { name: 'example.com' },
        body: { TrackingHost: text(500_000, 'a.') },
      },
    ],
    rotateDkimKey: ofNewDomain,
    verifyDomain: ofNewDomain,
    deleteDomain: [
      async () => {
        const name = await newDomain();
        const Items = many(1000, (i) => ({ Email: `gone${i}@example.net`, Note: text(200) }));
        await made('/suppressions', { Domain: name, Items }, capturing.token);
        return { ...operator, params: { name } };
      },
    ],
    listSuppressions: list('Reason=Complaint', 'Email=none@example.net', 'RecipientDomain=none.example'),
    addSuppressions: [
      { body: { Items: many(1000, (i) => ({ Email: `${text(40)}${i}@example.net`, Note: text(200) })) } },
      {
        ...refused(422, 'each item is a problem of its own'),
        body: { Items: many(9_000, () => ({ Email: text(40, '@') })) },
      },
    ],
    getSuppression: [
      { params: { email: 'gone1@example.net' } },
      { ...refused(404, 'a path as long as one may be'), params: { email: text(3_000, 'a') } },
    ],
    deleteSuppression: [
      async () => {
        await made('/suppressions', { Items: [{ Email: 'gone@example.net' }] });
        return { params: { email: 'gone@example.net' } };
      },
    ],
    listTemplates: list('Name=none'),
    createTemplate: templates.map(({ body, ...rest }) => async () => ({
      ...rest,
      body: { Name: `n${n++}`, ...(body as object) },
    })),
    getTemplate: id(large),
    updateTemplate: id(large, ...templates),
    renderTemplate: [
      ...id(loops, { body: { Variables: { items: many(90, (i) => ({ name: `n${i}` })) } } }),
      ...fresh(async () => (await made('/templates', largeTemplate())).TemplateID, {
        body: { Variables: { name: text(60), more: text(400_000) } },
      }),
    ],
    renderTexts: [
      ...templates,
      {
        body: {
          HTMLContent: section,
          PlainContent: section,
          Variables: { items: many(90, (i) => ({ name: `n${i}` })) },
        },
      },
      { body: { ...largeTemplate(), Name: undefined, Variables: { name: text(60), more: text(400_000) } } },
    ],
    deleteTemplate: fresh(async () => (await made('/templates', largeTemplate())).TemplateID),
    listRefusals: list(),
    listTokens: list(),
    createToken: [
      { body: { Name: 'n', Domains: ['example.com'], IPAllowList: many(100, (i) => `10.${i}.0.0/16`) } },
    ],
    getToken: fresh(newToken),
    rotateToken: fresh(newToken, { body: { Overlap: 1 } }),
    revokeToken: fresh(newToken),
    getMe: none,
    getSession: none,
    listSessions: [noSession],
    signOut: [noSession],
    endSession: [{ ...noSession, params: { id: randomUUID() } }],
    makeTotpSecret: [noSession],
    switchOnTotp: [{ ...noSession, body: { Password: text(1_024), Secret: text(100), Code: text(40) } }],
    switchOffTotp: [{ ...noSession, body: { Password: text(1_024), Code: text(40) } }],
    proveSession: [{ ...noSession, body: { Password: text(1_024), Code: text(40) } }],
    changePassword: [{ ...noSession, body: { Password: text(1_024), NewPassword: text(1_024) } }],
    listAudit: [{ ...operator, query: 'Limit=100&Who=none' }],
    listPeople: [{ ...operator, query: 'Limit=100' }],
    createPerson: [
      async () => ({
        ...operator,
        body: { Email: `p${n++}@example.com`, Password, Role: 'member', Domains: manyDomains },
      }),
    ],
    getPerson: fresh(newPerson, operator),
    updatePerson: fresh(newPerson, { ...operator, body: { Role: 'member', Domains: manyDomains } }),
    setPassword: fresh(newPerson, { ...operator, body: { Password } }),
    resetTotp: fresh(newPerson, operator),
    forgetIdentity: fresh(newPerson, operator),
    deletePerson: fresh(newPerson, { ...operator, query: 'Children=true' }),
    listSmtpCredentials: list(),
    createSmtpCredential: [{ body: { Name: text(100) } }],
    deleteSmtpCredential: fresh(
      async () => (await made('/smtp-credentials', { Name: 'child' })).CredentialID,
    ),
    listCaptures: list('Text=none', 'Subject=none', 'To=none@example.net', 'HasAttachment=true', 'Tag=long'),
    listInboxes: list(),
    getCapture: each.flatMap(({ ID }) => id(ID)),
    getCaptureSource: each.flatMap(({ ID }) => id(ID)),
    getCaptureSpam: each.flatMap(({ ID }) => id(ID)),
    getCapturePage: each.flatMap(({ ID }) => id(ID)),
    getCaptureAttachment: [{ params: { id: files, place: 29 } }],
    releaseCapture: fresh(toRelease, { at: 'sending as tenant', body: { To: 'somebody@taken.example' } }),
    waitForCapture: [
      { query: 'Timeout=0&Subject=files' },
      { ...refused(408, 'the nearest captures are looked for'), query: 'Timeout=0&Subject=none' },
    ],
    streamCaptures: [],
    markCaptures: [{ body: { Seen: true } }, { body: { Seen: false } }],
    deleteCapture: fresh(async () => {
      await capturing.settled(await send({ HTMLContent: shapes[7] }));
      return (await capturing.call('GET', '/sandbox/messages?Limit=1', { token })).json.Items[0].ID;
    }),
    deleteCaptures: none,
    listSandboxRules: list(),
    createSandboxRule: [{ body: { Recipient: '*@x.test', Subject: text(998), Result: 'Fail' } }],
    deleteSandboxRule: fresh(
      async () => (await made('/sandbox/rules', { Recipient: '*@x.test', Result: 'Defer' })).RuleID,
    ),
    deleteSandboxRules: none,
    getAttention: [atSending],
    getQueue: [{ ...atSending, query: 'Limit=100' }],
    erasePerson: [{ ...operator, body: { Email: 'reader1@example.net' } }],
    getWarmup: [atSending],
    getConfig: [atSending],
    listNodes: [atSending],
    runDoctor: [atSending],
    listPaths: [{ ...atSending, query: 'Limit=100' }],
    getSite: [
      { ...atSending, params: { site: relay } },
      { ...atSending, params: { site: text(250, 'a.').slice(0, -1) } },
    ],
    tryPath: [{ ...atSending, params: { site: relay } }],
    listHolds: [{ ...atSending, query: 'Limit=100' }],
    holdQueue: [{ ...atSending, body: hold(0) }],
    releaseQueue: [{ ...atSending, body: { All: true } }],
    listOverrides: [{ ...atSending, query: 'Limit=100' }],
    deleteOverride: fresh(async () => {
      await made('/email', email({ To: [{ email: `a${n++}@limited.example` }] }), sendingToken, sending);
      return until(
        'a limit was learned',
        async () => (await sending.call('GET', '/overrides')).json.Items[0]?.OverrideID,
      );
    }, atSending),
    listCauses: [{ ...atSending, query: 'Limit=100' }],
    getCause: id(cause, atSending),
    resendCause: id(cause, { ...atSending, body: {} }),
  };

  async function newPerson(): Promise<string> {
    const person = { Email: `p${n++}@example.com`, Password, Role: 'operator' };
    return (await made('/people', person, capturing.token)).PersonID;
  }

  async function newToken(): Promise<string> {
    return (await made('/tokens', { Name: 'child' })).TokenID;
  }
}
