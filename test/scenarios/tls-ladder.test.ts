/** TLS towards recipients' servers: what is asked for by whom, and what happens where it is not to be had. */
import { createHash } from 'node:crypto';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { createFakeDns, type FakeDns } from '../fakes/fake-dns.ts';
import { type ScriptedMx, startScriptedMx } from '../fakes/scripted-mx.ts';
import { type SmtpSink, startSmtpSink } from '../fakes/smtp-sink.ts';
import { createTestCa } from '../fakes/test-certificates.ts';
import { addDomain, fileScope, type Instance, startInstance, until } from './harness.ts';

const scope = fileScope();
const ca = createTestCa();
const stranger = createTestCa('Nobody trusts this one');
/** Valid for both hosts of "good"; the others are wrong in one way each. */
const good = ca.issue({
  names: ['mx.good.example', '*.sts.example', 'mx.dying.sts.example', 'mx.dane.example'],
});
const unknown = stranger.issue({ names: ['mx.unknown.example', 'mx.dane.example'] });
const expired = ca.issue({ names: ['mx.expired.example'], notAfter: new Date('2021-01-01T00:00:00Z') });
const policyCertificate = ca.issue({
  names: ['good', 'wrong', 'bad', 'testing', 'kept', 'late', 'dying'].map(
    (name) => `mta-sts.${name}.sts.example`,
  ),
});
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

let dns: FakeDns;
let server: Instance;
let token: string;
let sinks: Record<'good' | 'unknown' | 'expired' | 'clear', SmtpSink>;
let broken: ScriptedMx;
let injecting: ScriptedMx;
let dying: ScriptedMx;
let port: number;
const policies = new Map<string, { status: number; type: string; body: string }>();
const settings = (): Record<string, string> => ({
  route: 'mx',
  dns: dns.text,
  'mx-port': String(port),
  'allow-networks': '127.0.0.0/8',
});
const policy = (mode: string, mx: string) => ({
  status: 200,
  type: 'text/plain',
  body: `version: STSv1\nmode: ${mode}\nmx: ${mx}\nmax_age: 86400\n`,
});
let trust: { ca: readonly string[]; mtaStsPort: number };

beforeAll(async () => {
  const clear = await startSmtpSink();
  port = clear.port;
  const at = (host: string, tls: { key: string; cert: string }) => startSmtpSink({ host, port, tls });
  sinks = {
    clear,
    good: await at('127.0.0.2', good),
    unknown: await at('127.0.0.3', unknown),
    expired: await at('127.0.0.4', expired),
  };
  const offering = ['STARTTLS', 'PIPELINING'];
  broken = await startScriptedMx(
    { capabilities: offering, starttls: { do: 'fake-tls', bytes: 'no TLS here\r\n', next: 'close' } },
    { host: '127.0.0.5', port },
  );
  injecting = await startScriptedMx(
    { capabilities: offering, starttls: { do: 'tls-inject', bytes: '250 injected\r\n', pair: good } },
    { host: '127.0.0.6', port },
  );
  dying = await startScriptedMx(
    {
      capabilities: offering,
      starttls: { do: 'tls', pair: good },
      // The second one, which comes under TLS, is never answered; in the clear there is one only.
      ehlo: ['250-mx.test\n250 STARTTLS', { do: 'close' }],
    },
    { host: '127.0.0.7', port },
  );
  const web = createHttps(policyCertificate, (request, response) => {
    const found = policies.get(request.headers.host?.split(':')[0] ?? '');
    response
      .writeHead(found?.status ?? 404, { 'content-type': found?.type ?? 'text/plain' })
      .end(found?.body ?? '');
  });
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  trust = { ca: [ca.cert], mtaStsPort: (web.address() as AddressInfo).port };
  const tlsa = (bytes: Uint8Array, usage = 3) => [[usage, 1, 1, sha256(bytes)]] as const;
  const secure = { secure: true };
  dns = await createFakeDns({
    'clear.example': { MX: ['mx.clear.example'] },
    'mx.clear.example': { A: ['127.0.0.1'] },
    'good.example': { MX: ['mx.good.example'] },
    'mx.good.example': { A: ['127.0.0.2'] },
    'unknown.example': { MX: ['mx.unknown.example'] },
    'mx.unknown.example': { A: ['127.0.0.3'] },
    'expired.example': { MX: ['mx.expired.example'] },
    'mx.expired.example': { A: ['127.0.0.4'] },
    'broken.example': { MX: ['mx.broken.example'] },
    'mx.broken.example': { A: ['127.0.0.5'] },
    'injecting.example': { MX: ['mx.injecting.example'] },
    'mx.injecting.example': { A: ['127.0.0.6'] },
    'dying.example': { MX: ['mx.dying.example'] },
    'mx.dying.example': { A: ['127.0.0.7'] },
    'mx.dying.sts.example': { A: ['127.0.0.7'] },
    // DANE: the certificate of 127.0.0.3 is pinned, which no authority vouches for.
    'dane.example': { MX: ['mx.dane.example'], ...secure },
    'mx.dane.example': { A: ['127.0.0.3'], ...secure },
    [`_${port}._tcp.mx.dane.example`]: { TLSA: tlsa(unknown.spkiDer), ...secure },
    'alias.example': { MX: ['mx.alias.example'], ...secure },
    'mx.alias.example': { CNAME: 'mx.dane.example', ...secure },
    'other-alias.example': { MX: ['mx.other-alias.example'], ...secure },
    'mx.other-alias.example': { CNAME: 'mx.mismatch.example', ...secure },
    'mismatch.example': { MX: ['mx.mismatch.example'], ...secure },
    'mx.mismatch.example': { A: ['127.0.0.2'], ...secure },
    [`_${port}._tcp.mx.mismatch.example`]: { TLSA: tlsa(unknown.spkiDer), ...secure },
    'bogus.example': { MX: ['mx.bogus.example'], ...secure },
    'mx.bogus.example': { A: ['127.0.0.2'], ...secure },
    'unsigned.example': { MX: ['mx.unsigned.example'] },
    'mx.unsigned.example': { A: ['127.0.0.1'], ...secure },
    [`_${port}._tcp.mx.unsigned.example`]: { TLSA: tlsa(unknown.spkiDer), ...secure },
    'unusable.example': { MX: ['mx.unusable.example'], ...secure },
    'mx.unusable.example': { A: ['127.0.0.3'], ...secure },
    [`_${port}._tcp.mx.unusable.example`]: { TLSA: tlsa(unknown.spkiDer, 1), ...secure },
    'unusable-clear.example': { MX: ['mx.unusable-clear.example'], ...secure },
    'mx.unusable-clear.example': { A: ['127.0.0.1'], ...secure },
    [`_${port}._tcp.mx.unusable-clear.example`]: { TLSA: tlsa(unknown.spkiDer, 1), ...secure },
    // MTA-STS.
    'mx.sts.example': { A: ['127.0.0.2'] },
    'mx.late.sts.example': { A: ['127.0.0.3'] },
  });
  dns.fault(`TLSA _${port}._tcp.mx.bogus.example`, { kind: 'servfail' });
  for (const [name, host, mode, mx] of [
    ['good', 'mx.sts.example', 'enforce', '*.sts.example'],
    ['wrong', 'mx.sts.example', 'enforce', 'mail.sts.example'],
    ['bad', 'mx.unknown.example', 'enforce', 'mx.unknown.example'],
    ['testing', 'mx.unknown.example', 'testing', 'mx.unknown.example'],
    ['kept', 'mx.sts.example', 'enforce', '*.sts.example'],
    ['dying', 'mx.dying.sts.example', 'enforce', 'mx.dying.sts.example'],
  ] as const) {
    const domain = `${name}.sts.example`;
    dns.set(domain, { MX: [host] });
    dns.set(`_mta-sts.${domain}`, { TXT: ['v=STSv1; id=1'] });
    dns.set(`mta-sts.${domain}`, { A: ['127.0.0.1'] });
    policies.set(`mta-sts.${domain}`, policy(mode, mx));
  }
  server = await startInstance(scope, { settings: settings(), trust });
  token = await addDomain(server, 'example.com');
  scope.defer(() =>
    Promise.all([...Object.values(sinks), broken, injecting, dying, dns].map((each) => each.close())),
  );
  scope.defer(() => new Promise((resolve) => web.close(resolve)));
});

const sendTo = (domain: string, on = server, as = token) =>
  on.send({ To: [{ email: `a@${domain}` }] }, { token: as });
const timeline = async (id: string, on = server) =>
  (await on.call('GET', `/email/${id}/events`)).json.Items as {
    Event: string;
    Tls: string;
    Reason: string;
  }[];

async function delivered(domain: string, on = server, as = token): Promise<string> {
  const id = await sendTo(domain, on, as);
  expect((await on.settled(id)).Status, JSON.stringify(await timeline(id, on))).toBe('Delivered');
  return (await timeline(id, on)).at(-1)?.Tls ?? '';
}

/** What it waits for; it must not have been delivered. */
async function waits(domain: string, on = server, as = token): Promise<string> {
  const id = await sendTo(domain, on, as);
  const entry = await until(`mail to ${domain} waits`, async () =>
    (await timeline(id, on)).find(({ Event }) => Event === 'deferred' || Event === 'delivered'),
  );
  expect(entry.Event).toBe('deferred');
  const [row] = (await on.call('GET', `/email/${id}`)).json.Recipients;
  return `${row.Class}: ${entry.Reason}`;
}

describe('without any policy', () => {
  it('uses TLS where it is offered, whatever the certificate', async () => {
    expect(await delivered('good.example')).toMatch(
      /^TLSv1\.3 \S+, certificate verified, CN=mx\.good\.example, until 2049-12-31$/,
    );
    expect(await delivered('unknown.example')).toMatch(
      /certificate not verified \(.+\), CN=mx\.unknown\.example/,
    );
    expect(await delivered('expired.example')).toMatch(
      /not verified \(CERT_HAS_EXPIRED\).* until 2021-01-01/,
    );
    expect(sinks.expired.messages.at(-1)?.tls).toBe(true);
    expect(await delivered('clear.example')).toBe('');
  });

  it('goes in the clear where the handshake fails, after one with a small ClientHello, and remembers it', async () => {
    expect(await delivered('broken.example')).toMatch(/^none \(TLS failed: TLS handshake failed: \S+\)$/);
    const asked = () => broken.connections.map(({ commands }) => commands.includes('STARTTLS'));
    expect(asked()).toEqual([true, true, false]);
  });

  it('goes in the clear where the session ends behind the handshake, and only for that attempt', async () => {
    const asked = () => dying.connections.filter(({ commands }) => commands.includes('STARTTLS')).length;
    expect(await delivered('dying.example')).toMatch(/^none \(TLS failed: .+\)$/);
    expect(asked()).toBe(1);
    // Its own TLS policy, or its sender's, leaves no way in the clear.
    expect(await waits('dying.sts.example')).toMatch(/^tls_failed: /);
    const strict = await addDomain(server, 'strict-dying.example.com', {});
    await server.call('PATCH', '/domains/strict-dying.example.com', { body: { RequireTls: true } });
    const id = await server.send(
      { From: { email: 'a@strict-dying.example.com' }, To: [{ email: 'a@dying.example' }] },
      { token: strict },
    );
    await until('it waits', async () => (await server.statusOf(id)) === 'Deferred');
    expect(dying.connections.flatMap(({ messages }) => messages)).toHaveLength(1);
  });

  it('does not go on where plaintext follows STARTTLS, nor in the clear', async () => {
    expect(await waits('injecting.example')).toContain('plaintext followed');
    expect(injecting.connections.flatMap(({ commands }) => commands).join()).not.toContain('MAIL');
  });
});

describe('with DANE', () => {
  it('takes the certificate that DNS pins, though no authority vouches for it', async () => {
    expect(await delivered('dane.example')).toContain('certificate verified by DANE');
  });

  it('waits where another certificate is shown, valid or not', async () => {
    expect(await waits('mismatch.example')).toMatch(/^tls_failed: .*DANE/);
  });

  it('looks at the TLSA records of the name that an alias leads to', async () => {
    expect(await delivered('alias.example')).toContain('certificate verified by DANE');
    expect(await waits('other-alias.example')).toMatch(/^tls_failed: .*records of mx\.mismatch\.example/);
  });

  it('waits where TLSA records cannot be looked up', async () => {
    expect(await waits('bogus.example')).toMatch(/^tls_failed: .*SERVFAIL/);
    expect(sinks.good.messages.some(({ rcpts }) => rcpts[0] === 'a@bogus.example')).toBe(false);
  });

  it('does not look at TLSA records of a domain without DNSSEC', async () => {
    expect(await delivered('unsigned.example')).toBe('');
    expect(dns.count(`_${port}._tcp.mx.unsigned.example`)).toBe(0);
  });

  it('asks for TLS, and for nothing more, where no record can be used', async () => {
    expect(await delivered('unusable.example')).toContain('certificate not verified');
    expect(await waits('unusable-clear.example')).toContain('STARTTLS');
  });
});

describe('with MTA-STS', () => {
  it('delivers to a host that the policy names and whose certificate is valid', async () => {
    expect(await delivered('good.sts.example')).toContain('certificate verified as MTA-STS asks');
  });

  it('waits where no MX is one that the policy names', async () => {
    expect(await waits('wrong.sts.example')).toMatch(/^tls_failed: .*MTA-STS policy.*mail\.sts\.example/);
  });

  it('waits where the certificate is not valid', async () => {
    expect(await waits('bad.sts.example')).toMatch(/^tls_failed: .*certificate not acceptable/);
  });

  it('delivers in testing mode, and counts what enforcing would have refused', async () => {
    expect(await delivered('testing.sts.example')).toContain('not verified');
    const metrics = await (
      await fetch(`${server.server.localUrl}/metrics`, {
        headers: { authorization: `Bearer ${server.token}` },
      })
    ).text();
    expect(metrics).toMatch(
      /postrider_tls_sessions_total\{policy="sts",result="certificate-not-trusted"\} [1-9]/,
    );
    expect(metrics).toMatch(/postrider_tls_sessions_total\{policy="sts",result="success"\} [1-9]/);
    expect(metrics).toMatch(/postrider_tls_sessions_total\{policy="tlsa",result="success"\} [1-9]/);
    expect(metrics).toMatch(/postrider_tls_sessions_total\{policy="tlsa",result="dnssec-invalid"\} [1-9]/);
  });

  it('keeps to a policy once seen when its server and its record are gone, also after a restart', async () => {
    const first = await startInstance(scope, { settings: settings(), trust });
    await addDomain(first, 'example.com');
    expect(await delivered('kept.sts.example', first, first.token)).toContain('as MTA-STS asks');
    await first.stop();
    policies.set('mta-sts.kept.sts.example', { status: 404, type: 'text/plain', body: '' });
    dns.set('_mta-sts.kept.sts.example', undefined);
    // As whoever wants the mail would have it.
    dns.set('kept.sts.example', { MX: ['mx.unknown.example'] });
    const second = await startInstance(scope, { settings: settings(), trust, folder: first.folder });
    expect(await waits('kept.sts.example', second, second.token)).toMatch(/^tls_failed: .*MTA-STS policy/);
    expect(sinks.unknown.messages.some(({ rcpts }) => rcpts[0] === 'a@kept.sts.example')).toBe(false);
  });

  it('delivers where a policy is announced that was never to be had', async () => {
    dns.set('late.sts.example', { MX: ['mx.late.sts.example'] });
    dns.set('_mta-sts.late.sts.example', { TXT: ['v=STSv1; id=1'] });
    dns.set('mta-sts.late.sts.example', { A: ['127.0.0.1'] });
    expect(await delivered('late.sts.example')).toContain('not verified');
  });
});

describe('where the sender’s domain requires TLS', () => {
  it('waits for verified TLS, while others’ mail to the same server goes', async () => {
    const strict = await addDomain(server, 'strict.example');
    const patched = await server.call('PATCH', '/domains/strict.example', { body: { RequireTls: true } });
    expect(patched.status, patched.text).toBe(200);
    const send = (domain: string) =>
      server.send(
        { From: { email: 'a@strict.example' }, To: [{ email: `strict@${domain}` }] },
        { token: strict },
      );
    const waiting = await Promise.all(['unknown.example', 'clear.example'].map(send));
    for (const id of waiting) {
      await until('it waits', async () => (await timeline(id)).find(({ Event }) => Event === 'deferred'));
    }
    expect(await delivered('unknown.example')).not.toBe('');
    expect(await delivered('clear.example')).toBe('');
    for (const domain of ['good.example', 'dane.example']) {
      const id = await send(domain);
      expect((await server.settled(id)).Status).toBe('Delivered');
      expect((await timeline(id)).at(-1)?.Tls).toContain('certificate verified');
    }
    for (const id of waiting) expect((await server.call('GET', `/email/${id}`)).json.Status).toBe('Queued');
    const all = [...sinks.unknown.messages, ...sinks.clear.messages];
    const strictly = all.flatMap(({ rcpts }) => rcpts).filter((address) => address.startsWith('strict@'));
    expect(strictly).toEqual(['strict@dane.example']);
  });
});
