/** Many messages in one request, and a request that is only looked at: both refuse as POST /email does. */
import { beforeAll, describe, expect, it } from 'vitest';
import { addDomain, email, fileScope, type Instance, startInstance } from './harness.ts';

const scope = fileScope();
let server: Instance;
let token: string;
beforeAll(async () => {
  server = await startInstance(scope);
  token = await addDomain(server, 'example.com');
  await addDomain(server, 'other.example');
});

const batch = (Messages: unknown, headers: Record<string, string> = {}) =>
  server.call('POST', '/email/batch', { token, body: { Messages }, headers });
const validate = (fields: object, headers: Record<string, string> = {}) =>
  server.call('POST', '/email/validate', { token, body: email({ ...fields }), headers });
const count = async () => (await server.call('GET', '/email?Limit=100', { token })).json.Items.length;
const names = (answer: { json: { Warnings: { Name: string }[] } }) =>
  answer.json.Warnings.map(({ Name }) => Name);

describe('POST /email/batch', () => {
  it('answers each message in its place, and takes the good ones', async () => {
    const answer = await batch([
      email({ Subject: 'one' }),
      email({ Subject: '' }),
      'no object',
      email({ From: { email: 'a@other.example' } }),
      email({ Subject: 'two', Metadata: { n: '2' } }),
    ]);
    expect(answer.status).toBe(200);
    const { Results, Accepted, Rejected } = answer.json;
    expect([Accepted, Rejected]).toEqual([2, 3]);
    expect(
      Results.map(({ Errors }: { Errors?: { Code: number; Field?: string }[] }) => Errors?.[0]?.Code),
    ).toEqual([undefined, 8, 1108, 33, undefined]);
    expect(Results[1].Errors[0]).toMatchObject({ Name: 'subject-required', Field: '/Subject' });
    for (const [i, Subject] of [
      [0, 'one'],
      [4, 'two'],
    ] as const) {
      const facts = await server.settled(Results[i].MessageID);
      expect(facts.Status).toBe('Delivered');
      expect((await server.call('GET', `/email/${Results[i].MessageID}`)).json.Subject).toBe(Subject);
    }
  });

  it('names the form where the list was sent alone, small or large', async () => {
    for (const body of [[email()], [email({ PlainContent: 'x'.repeat(300_000) })]]) {
      const answer = await server.call('POST', '/email/batch', { token, body });
      expect(answer.status).toBe(400);
      expect(answer.json.Error).toContain('must be an object that holds it, like {"Messages": […]}');
    }
    const suppressions = await server.call('POST', '/suppressions', { body: [{ Email: 'a@example.net' }] });
    expect(suppressions.json.Error).toContain('like {"Items": […]}');
  });

  it('is one under one key: repeated as it was, and refused with another body', async () => {
    const headers = { 'idempotency-key': 'batch-1' };
    const body = [email({ Subject: 'once' }), email({ To: [] })];
    const before = await count();
    const [first, second] = [await batch(body, headers), await batch(body, headers)];
    expect(second.text).toBe(first.text);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(await count()).toBe(before + 1);
    const other = await batch([email()], headers);
    expect([other.status, other.json.Errors[0].Code]).toEqual([422, 1702]);
  });

  it('takes large bodies apart in a worker, to the digit of a content id', async () => {
    const text = JSON.stringify({
      Messages: [
        email({ HTMLContent: `<p>${'x'.repeat(200_000)}</p>`, PlainContent: 'x' }),
        email({
          HTMLContent: `<img src="cid:12345678901234567890">${'y'.repeat(300_000)}`,
          Attachments: [{ Content: 'aGk=', Filename: 'a.png', Disposition: 'inline', ContentId: 'MARK' }],
        }),
        7,
      ],
    }).replace('"MARK"', '12345678901234567890');
    const answer = await server.call('POST', '/email/batch', { token, body: text });
    expect([answer.status, answer.json.Accepted, answer.json.Rejected]).toEqual([200, 2, 1]);
    const raw = (await server.call('GET', `/email/${answer.json.Results[1].MessageID}/raw`)).text;
    expect(raw).toContain('Content-ID: <12345678901234567890>');
  });

  it('refuses an envelope that is none', async () => {
    for (const [body, code] of [
      [{}, 1108],
      [{ Messages: 'x' }, 1108],
      [{ Messages: [] }, 422],
      [{ Messages: Array(101).fill({}) }, 422],
    ] as const) {
      const answer = await server.call('POST', '/email/batch', { token, body });
      expect([answer.status, answer.json.Errors[0].Code, answer.json.Errors[0].Field]).toEqual([
        422,
        code,
        '/Messages',
      ]);
    }
    const strict = { prefer: 'handling=strict' };
    const typo = await server.call('POST', '/email/batch', {
      token,
      headers: strict,
      body: { Messages: [email()], Mesages: [] },
    });
    expect([typo.status, typo.json.Errors[0].Code]).toEqual([422, 1006]);
    const inside = await batch([email({ Colour: 1 })], strict);
    expect([inside.status, inside.json.Results[0].Errors[0].Code]).toEqual([200, 1006]);
    expect((await server.call('POST', '/email/batch', { token, body: '[]' })).status).toBe(400);
    const all = await batch([email({ Subject: 5 })]);
    expect([all.status, all.json.Accepted, all.json.Rejected]).toEqual([200, 0, 1]);
  });

  it('counts its messages for the rate', async () => {
    const made = await server.call('POST', '/tokens', {
      body: { Name: 'slow', Domains: ['example.com'], RateLimit: 5 },
    });
    const slow = made.json.Token;
    const send = (n: number) =>
      server.call('POST', '/email/batch', {
        token: slow,
        body: { Messages: Array(n).fill(email({ Subject: '' })) },
      });
    const first = await send(9);
    expect([first.status, first.headers.get('ratelimit')]).toEqual([
      200,
      expect.stringMatching(/^"send";r=1;t=/),
    ]);
    expect(first.headers.get('ratelimit-policy')).toBe('"send";q=10;w=2');
    const second = await send(9);
    expect([second.status, second.json.Errors[0].Code]).toEqual([429, 429]);
    expect(Number(second.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    const me = await server.call('GET', '/me', { token: slow });
    expect([me.status, me.headers.get('ratelimit')]).toEqual([
      200,
      expect.stringMatching(/^"send";r=\d+;t=\d+$/),
    ]);
    expect((await server.call('GET', '/me', { token })).headers.get('ratelimit')).toBeNull();
  });
});

describe('POST /email/validate', () => {
  it('says yes, how large and to how many, and stores nothing', async () => {
    const before = await count();
    const answer = await validate({ CC: [{ email: 'c@example.net' }] });
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({ Valid: true, Size: expect.any(Number), Recipients: 2, Warnings: [] });
    expect(await count()).toBe(before);
  });

  it('refuses exactly as sending does', async () => {
    for (const fields of [
      { Subject: '', To: [] },
      { From: { email: 'a@other.example' } },
      { SendAt: 'x' },
      { Metadata: { a: 1 } },
    ]) {
      const [checked, sent] = [
        await validate(fields),
        await server.call('POST', '/email', { token, body: email({ ...fields }) }),
      ];
      expect(checked.status).toBe(sent.status);
      expect(checked.json.Errors).toEqual(sent.json.Errors);
    }
  });

  it('warns of what is likely not meant', async () => {
    await server.call('POST', '/suppressions', {
      body: { Items: [{ Email: 'gone@example.net' }], Domain: 'example.com' },
    });
    const answer = await validate({
      To: [{ email: 'a@example.net' }, { email: 'gone@example.net' }, { email: 'bounced@simulator.test' }],
      PlainContent: '',
      Priority: 'bulk',
      Colour: 'red',
    });
    expect(answer.json.Recipients).toBe(3);
    expect(names(answer)).toEqual(['unknown-property', 'no-text-part', 'recipient-suppressed', 'sandbox']);
    const all = await validate({ To: [{ email: 'gone@example.net' }] });
    expect([all.status, all.json.Errors[0].Code]).toEqual([422, 14]);
    expect(names(await validate({ HTMLContent: `<p>${'x'.repeat(110_000)}</p>` }))).toEqual(['html-clipped']);
    const large = await validate({ HTMLContent: `<p>${'x'.repeat(400_000)}</p>`, PlainContent: '' });
    expect(large.json).toMatchObject({ Valid: true, Recipients: 1 });
  });

  it('knows who gets the unsubscribe header', async () => {
    const Headers = { 'List-Unsubscribe': '<https://example.com/u>' };
    const oneClick = { ...Headers, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' };
    for (const [fields, expected] of [
      [{ Priority: 'bulk' }, []],
      [{ Priority: 'bulk', ListUnsubscribe: true }, []],
      [{ Priority: 'bulk', ListUnsubscribe: false }, ['unsubscribe-kept']],
      [{ Priority: 'bulk', Headers }, ['unsubscribe-not-one-click']],
      [{ Priority: 'bulk', Headers: oneClick }, []],
      [{ Headers }, []],
      [{ ListUnsubscribe: true }, []],
      [{ ListUnsubscribe: false }, []],
      [{ Priority: 'critical', ListUnsubscribe: true }, ['unsubscribe-missing']],
      [{ Priority: 'critical', ListUnsubscribe: false }, []],
    ] as const) {
      expect([fields, names(await validate(fields))]).toEqual([fields, expected]);
    }
  });
});

describe('a quota', () => {
  it('is exact, by domain, for single mail and batches, shown in /me, and kept over a restart', async () => {
    const first = await startInstance(scope, {
      settings: { 'quota-per-day': '100', route: 'smtp://127.0.0.1:9' },
    });
    const own = await addDomain(first, 'example.com', { Preset: 'Full' });
    const second = await addDomain(first, 'other.example', { Preset: 'Full' });
    const raise = await first.call('PATCH', '/domains/example.com', {
      token: own,
      body: { Quota: { PerDay: 9 } },
    });
    expect([raise.status, raise.json.Errors[0].Code]).toEqual([403, 34]);
    const set = await first.call('PATCH', '/domains/example.com', { body: { Quota: { PerDay: 5 } } });
    expect([set.status, set.json.Quota]).toEqual([200, { PerMinute: null, PerHour: null, PerDay: 5 }]);
    await first.send({ CC: [{ email: 'c@example.net' }] }, { token: own });
    // What the sandbox plays is not charged.
    await first.send({ Sandbox: true }, { token: own });
    const left = async (at: Instance, by: string) =>
      (await at.call('GET', '/me', { token: by })).json.Quotas.map(
        ({ Domain, Period, Remaining }: Record<string, unknown>) => [Domain, Period, Remaining],
      );
    expect(await left(first, own)).toEqual([['example.com', 'day', 3]]);
    expect(await left(first, second)).toEqual([['other.example', 'day', 100]]);
    const Messages = Array.from({ length: 5 }, () => email());
    const answer = await first.call('POST', '/email/batch', { token: own, body: { Messages } });
    expect([answer.json.Accepted, answer.json.Rejected]).toEqual([3, 2]);
    expect(answer.json.Results[3].Errors[0]).toMatchObject({ Code: 17, Name: 'quota-exceeded' });
    await first.stop();
    const again = await startInstance(scope, {
      folder: first.folder,
      settings: { 'quota-per-day': '100', route: 'smtp://127.0.0.1:9' },
    });
    expect(await left(again, own)).toEqual([['example.com', 'day', 0]]);
    const refused = await again.call('POST', '/email', { token: own, body: email() });
    expect([refused.status, refused.json.Errors[0].Code]).toEqual([429, 17]);
    expect(refused.json.type).toContain('quota-exceeded');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.headers.get('ratelimit-policy')).toBe('"day";q=5;w=86400');
    expect(refused.headers.get('ratelimit')).toMatch(/^"day";r=0;t=[1-9]\d*$/);
    const checked = await again.call('POST', '/email/validate', { token: own, body: email() });
    expect([checked.status, checked.json.Errors[0].Code]).toEqual([429, 17]);
    const body = email({ From: { email: 'a@other.example' } });
    expect((await again.call('POST', '/email', { token: second, body })).status).toBe(200);
  });
});
