/** Where a refused request is recorded: one line of the mail log, GET /refusals, `postrider refusals`. */
import { connect } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { openLineClient } from '../fakes/smtp-line-client.ts';
import { command } from './commands.ts';
import {
  addDomain,
  email,
  fileScope,
  type Instance,
  makeToken,
  request,
  startInstance,
  until,
} from './harness.ts';

const scope = fileScope();
let server: Instance;
let mine: string;
let theirs: string;
let port: number;

interface Row {
  Action: string;
  Status: number;
  Code: number | null;
  Name: string | null;
  Message: string;
  Domain: string | null;
  TokenName: string | null;
  Peer: string;
  Times: number;
}

async function listed(token: string | undefined = undefined, query = ''): Promise<Row[]> {
  const answer = await server.call('GET', `/refusals${query}`, token === undefined ? {} : { token });
  expect(answer.status).toBe(200);
  return answer.json.Items;
}

beforeAll(async () => {
  server = await startInstance(scope, { settings: { submission: '127.0.0.1:0' } });
  mine = await addDomain(server, 'mine.example', { Preset: 'Full', Name: 'my shop' });
  theirs = await addDomain(server, 'theirs.example', { Preset: 'Full', Name: 'their shop' });
  port = server.server.submission.plain?.port ?? 0;
});

describe('a refused request', () => {
  it('says where TLS was sent to the plain port, which header is none, where SMTP was spoken, and where mail is sent that was posted elsewhere', async () => {
    const { port: plain, hostname } = new URL(server.server.localUrl);
    const header = `GET / HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer x\r\r\n\r\n`;
    for (const input of [Buffer.from('160301000501000001', 'hex'), header, 'EHLO me\r\n']) {
      const socket = connect(Number(plain), hostname);
      socket.on('error', () => undefined).resume();
      socket.end(input);
    }
    await until('all are listed', async () => {
      const texts = (await listed()).map(({ Message }) => Message).join('\n');
      const expected = [
        /^TLS was sent to a port without TLS/m,
        /^A header has a line break/m,
        /SMTP has another port/m,
      ];
      return expected.every((text) => text.test(texts));
    });
    for (const path of ['/emails', '/mail/send']) {
      const answer = await server.call('POST', path, { body: {} });
      expect(answer.json.Error).toContain('mail is sent by POST /api/v1/email, see /api/v1/docs');
    }
    expect((await server.call('GET', '/emails')).json.Error).toMatch(/\/emails; see \/api\/v1\/docs$/);
  });

  it('is listed for who sent it, and for the operator, and for nobody else', async () => {
    const body = email({ From: { email: 'a@theirs.example' }, PlainContent: 'the secret content' });
    expect((await server.call('POST', '/email', { token: mine, body })).status).toBe(403);
    const row = {
      Via: 'HTTP',
      Action: 'POST /email',
      Status: 403,
      Code: 33,
      Name: 'from-domain-not-allowed',
      Message:
        '/From/email: This token or SMTP login may not send from theirs.example, only from mine.example',
      Domain: 'theirs.example',
      TokenName: 'my shop',
      Peer: '127.0.0.1',
      Times: 1,
    };
    expect((await listed(mine))[0]).toMatchObject(row);
    expect((await listed())[0]).toMatchObject(row);
    expect(await listed(theirs)).toEqual([]);
    expect((await listed(undefined, '?Domain=mine.example'))[0]).toMatchObject(row);
    expect(await listed(undefined, '?Domain=theirs.example')).toEqual([]);
    const lines = server.logs.filter(({ msg }) => msg === 'refused');
    expect(lines.at(-1)).toMatchObject({
      stream: 'mail',
      code: 33,
      status: 403,
      domain: 'theirs.example',
      tokenName: 'my shop',
      ip: '127.0.0.1',
    });
    expect(server.logText()).not.toContain('secret content');
  });

  it('is listed whatever it was refused for', async () => {
    const at = (what: number) => (rows: Row[]) => rows.some(({ Code }) => Code === what);
    await server.call('POST', '/email', { token: mine, body: '{' });
    await server.call('POST', '/email', { token: mine, body: email({ To: [] }) });
    await server.call('GET', '/domains/nobody.example', { token: mine });
    await server.call('POST', '/tokens', {
      token: await makeToken(server, { Domains: ['mine.example'], Preset: 'Send' }),
    });
    const limited = await makeToken(server, { Domains: ['mine.example'], RateLimit: 0.001 });
    const one = email({ From: { email: 'a@mine.example' } });
    await server.call('POST', '/email', { token: limited, body: one });
    await server.call('POST', '/email', { token: limited, body: one });
    const rows = await listed(mine, '?Limit=100');
    for (const code of [1001, 20, 404, 34, 429]) expect([code, at(code)(rows)]).toEqual([code, true]);
    expect(rows.find(({ Code }) => Code === 404)?.Action).toBe('GET /domains/:name');
  });

  it('of the dashboard is shown there and not kept, except where a sign-in fails', async () => {
    const Email = 'ada@mine.example';
    const Password = 'correct horse battery';
    const rights = { Role: 'member', Preset: 'Send', Domains: ['mine.example'] };
    await server.call('POST', '/people', { body: { Email, Password, ...rights } });
    const own = { origin: server.server.localUrl, 'x-postrider-dashboard': '1' };
    const sign = (body: object) => server.call('POST', '/session', { token: null, headers: own, body });
    const cookie = (await sign({ Email, Password })).headers.getSetCookie().join().split(';')[0] ?? '';
    for (const headers of [{ ...own, cookie }, own]) {
      const answer = await server.call('GET', '/stats', { token: null, headers });
      expect([401, 403]).toContain(answer.status);
    }
    expect((await sign({ Email, Password: 'wrong' })).status).toBe(401);
    const rows = await listed();
    expect(rows.some(({ Action }) => Action === 'GET /stats')).toBe(false);
    expect(rows[0]).toMatchObject({ Action: 'POST /session', Name: 'sign-in-failed' });
    expect(server.logs.filter(({ action }) => action === 'GET /stats')).toHaveLength(2);
  });

  it('by nobody is for the operator alone, and the token is nowhere', async () => {
    await server.call('GET', '/email', { token: 'aaaa.bbbb.cccc' });
    await request('GET', `${server.server.localUrl}/api/v1/email`);
    await request('GET', `${server.server.localUrl}/api/v1/no-such-path`);
    const socket = connect(new URL(server.server.localUrl).port as unknown as number, '127.0.0.1');
    socket.end('nonsense\r\n\r\n');
    socket.resume();
    const rows = await until('all are listed', async () => {
      const all = await listed(undefined, '?Limit=100');
      return all.some(({ Action }) => Action === '(no request)') ? all : null;
    });
    for (const code of [13, 1, 404, 400]) {
      expect(rows.some(({ Code, TokenName }) => Code === code && TokenName === null)).toBe(true);
    }
    expect(JSON.stringify(rows)).not.toContain('bbbb');
    expect((await listed(mine, '?Limit=100')).every(({ TokenName }) => TokenName !== null)).toBe(true);
  });

  it('within a batch is listed by message', async () => {
    const from = (address: string) => email({ From: { email: address } });
    const Messages = [
      from('a@mine.example'),
      from('a@batch.example'),
      { ...from('a@mine.example'), Subject: '' },
    ];
    const answer = await server.call('POST', '/email/batch', { token: mine, body: { Messages } });
    expect(answer.json).toMatchObject({ Accepted: 1, Rejected: 2 });
    expect(
      (await listed(mine)).slice(0, 2).map(({ Action, Code, Domain }) => [Action, Code, Domain]),
    ).toEqual([
      ['POST /email/batch', 8, 'mine.example'],
      ['POST /email/batch', 33, 'batch.example'],
    ]);
  });
});

describe('a refused SMTP command', () => {
  it('is listed with the sender it was about', async () => {
    const client = await openLineClient(port);
    await client.reply();
    await client.hello();
    await client.login('token', 'wrong password');
    await client.ask('MAIL FROM:<a@mine.example>');
    await client.login('token', mine);
    await client.ask('MAIL FROM:<a@theirs.example>');
    // What a client sends with it before it reads the reply is not a refusal of its own.
    expect(await client.ask('RCPT TO:<b@example.net>')).toMatch(/^503 5\.5\.1 MAIL first/);
    expect(await client.ask('DATA')).toMatch(/^503 /);
    await client.ask('MAIL FROM:<not an address>');
    await client.ask('MAIL FROM:<a@mine.example>');
    await client.ask('RCPT TO:<nobody>');
    expect(await client.ask('DATA')).toMatch(/^554 /);
    await client.ask('RSET');
    const header =
      'From: ceo@b.example <a@mine.example>\r\nSubject: the secret subject\r\n\r\nthe secret body\r\n';
    await client.transact({ from: 'a@mine.example', to: ['b@example.net'], data: header });
    const other = 'From: a@theirs.example\r\n\r\nx\r\n';
    await client.transact({ from: 'a@mine.example', to: ['b@example.net'], data: other });
    client.close();
    const rows = await listed(mine, '?Limit=100');
    expect(
      rows.slice(0, 5).map(({ Action, Status, Code, Domain }) => [Action, Status, Code, Domain]),
    ).toEqual([
      ['DATA', 550, 33, 'theirs.example'],
      ['DATA', 550, null, 'mine.example'],
      ['RCPT', 553, null, 'mine.example'],
      ['MAIL', 553, null, null],
      ['MAIL', 550, 33, 'theirs.example'],
    ]);
    expect(rows[1]?.Message).toContain('5.6.0 The From field has @ outside');
    expect(rows[0]?.TokenName).toBe('my shop');
    const all = await listed(undefined, '?Limit=100');
    expect(all.some(({ Action, Code }) => Action === 'AUTH' && Code === 13)).toBe(true);
    expect(all.some(({ Action, Status }) => Action === 'MAIL' && Status === 530)).toBe(true);
    expect(server.logText()).not.toMatch(/secret subject|secret body|wrong password/);
  });
});

describe('the command', () => {
  it('prints them, and as JSON', async () => {
    const text = await command(['refusals', '--data', server.folder]);
    expect(text.code).toBe(0);
    expect(text.stdout).toMatch(/my shop .*SMTP DATA .*550 .*theirs\.example/);
    const json = await command(['refusals', '--domain', 'mine.example', '--json', '--data', server.folder]);
    const { Items } = JSON.parse(json.stdout);
    expect(Items.length).toBeGreaterThan(5);
    expect(Items.every(({ TokenName }: Row) => TokenName !== null)).toBe(true);
  });
});
