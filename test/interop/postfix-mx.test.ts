/**
 * Direct delivery to a real Postfix as the MX: its TLS with certificates good and bad, under policies that ask for none
 * and for all, its greylisting and its refusals. Reported as skipped if Postfix is not installed.
 */
import { createServer as createHttps, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createFakeDns, type FakeDns } from '../fakes/fake-dns.ts';
import { type OwnPostfix, postfixMissing, startOwnPostfix } from '../fakes/own-postfix.ts';
import { createTestCa } from '../fakes/test-certificates.ts';
import { addDomain, fileScope, type Instance, startInstance, until } from '../scenarios/harness.ts';

const missing = postfixMissing();
if (missing !== null) process.stderr.write(`SKIPPED: direct delivery to a real Postfix: ${missing}\n`);
const scope = fileScope();
const ca = createTestCa();
const HOST = 'mx.reader.example';
const certificates = {
  good: ca.issue({ names: [HOST] }),
  expired: ca.issue({ names: [HOST], notAfter: new Date('2021-01-01T00:00:00Z') }),
  wrongName: ca.issue({ names: ['mail.another.example'] }),
};

describe.skipIf(missing !== null)('a real Postfix as the MX', () => {
  let dns: FakeDns;
  let web: Server;
  let postfix: OwnPostfix | null = null;
  let server: Instance | null = null;
  let token = '';

  beforeAll(async () => {
    dns = await createFakeDns({
      'reader.example': { MX: [HOST] },
      [HOST]: { A: ['127.0.0.1'] },
      'mta-sts.reader.example': { A: ['127.0.0.1'] },
    });
    web = createHttps(ca.issue({ names: ['mta-sts.reader.example'] }), (_, response) => {
      const body = `version: STSv1\r\nmode: enforce\r\nmx: ${HOST}\r\nmax_age: 86400\r\n`;
      response.writeHead(200, { 'content-type': 'text/plain' }).end(body);
    });
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
    scope.defer(() => dns.close());
    scope.defer(() => new Promise((resolve) => web.close(resolve)));
  });

  afterEach(async () => {
    await server?.stop();
    await postfix?.stop();
    server = null;
    postfix = null;
  });

  async function start(options: Omit<Parameters<typeof startOwnPostfix>[0], 'domain'>, enforce = false) {
    postfix = await startOwnPostfix({ domain: 'reader.example', ...options });
    dns.set('_mta-sts.reader.example', enforce ? { TXT: ['v=STSv1; id=1'] } : undefined);
    server = await startInstance(scope, {
      settings: {
        route: 'mx',
        dns: dns.text,
        'mx-port': String(postfix.port),
        'allow-networks': '127.0.0.0/8',
        retry: '300ms',
      },
      trust: { ca: [ca.cert], mtaStsPort: (web.address() as AddressInfo).port },
    });
    token = await addDomain(server, 'example.com');
    return { postfix, server };
  }

  const timeline = async (on: Instance, id: string) =>
    (await on.call('GET', `/email/${id}/events`)).json.Items as {
      Event: string;
      Tls: string;
      Reason: string;
    }[];

  it.each([
    ['good', /certificate verified, CN=mx\.reader\.example/],
    ['expired', /not verified \(CERT_HAS_EXPIRED\)/],
    ['wrongName', /not verified \(ERR_TLS_CERT_ALTNAME_INVALID\)/],
  ] as const)('takes mail by TLS with a certificate that is %s, where nobody asks', async (which, tls) => {
    const run = await start({ tls: certificates[which] });
    const id = await run.server.send({ To: [{ email: 'a@reader.example' }] }, { token });
    expect((await run.server.settled(id)).Status, run.postfix.log()).toBe('Delivered');
    expect((await timeline(run.server, id)).at(-1)?.Tls).toMatch(tls);
    expect(run.postfix.log()).toContain('TLS connection established from');
  });

  it.each(['expired', 'wrongName'] as const)(
    'gets none where MTA-STS enforces and its certificate is %s',
    async (which) => {
      const run = await start({ tls: certificates[which] }, true);
      const id = await run.server.send({ To: [{ email: 'a@reader.example' }] }, { token });
      const deferred = await until('it waits', async () =>
        (await timeline(run.server, id)).find(({ Event }) => Event === 'deferred'),
      );
      expect(deferred.Reason).toContain('certificate not acceptable');
      expect(deferred.Tls).toContain('not verified');
      expect(run.postfix.log()).not.toContain('from=<');
    },
  );

  it('gets it where MTA-STS enforces and its certificate is good', async () => {
    const run = await start({ tls: certificates.good, tlsLevel: 'encrypt' }, true);
    const id = await run.server.send({ To: [{ email: 'a@reader.example' }] }, { token });
    expect((await run.server.settled(id)).Status, run.postfix.log()).toBe('Delivered');
    expect((await timeline(run.server, id)).at(-1)?.Tls).toContain('verified as MTA-STS asks');
  });

  it('takes at a later attempt what it greylisted, from the same sender', async () => {
    const run = await start({ greylistMs: 500 });
    const id = await run.server.send({ To: [{ email: 'a@reader.example' }] }, { token });
    expect((await run.server.settled(id)).Status, run.postfix.log()).toBe('Delivered');
    const events = (await timeline(run.server, id)).map(({ Event }) => Event);
    expect(events.filter((event) => event === 'deferred').length).toBeGreaterThan(0);
    const senders = new Set(
      [...run.postfix.log().matchAll(/Greylisted.*?from=<([^>]*)>/g)].map(([, from]) => from),
    );
    expect(senders.size).toBe(1);
  });

  it('tells of each recipient for itself', async () => {
    const run = await start({
      recipients: [
        'full@reader.example 452 4.2.2 mailbox full',
        'gone@reader.example 550 5.1.1 no longer here',
      ],
    });
    const To = ['a', 'full', 'gone', 'nobody'].map((name) => ({ email: `${name}@reader.example` }));
    const id = await run.server.send({ To }, { token });
    const rows = await until('three are decided', async () => {
      const { Recipients } = (await run.server.call('GET', `/email/${id}`)).json;
      const open = Recipients.filter(
        ({ Status }: { Status: string }) => Status === 'Queued' || Status === 'Sending',
      );
      return open.length === 0 ? Recipients : null;
    });
    expect(
      Object.fromEntries(rows.map((row: { Email: string; Status: string }) => [row.Email, row.Status])),
    ).toEqual({
      'a@reader.example': 'Delivered',
      'full@reader.example': 'Deferred',
      'gone@reader.example': 'Bounced',
      'nobody@reader.example': 'Bounced',
    });
    await until('one copy lies in the Maildir', () => run.postfix.mail().length === 1, 20_000);
  });
});
