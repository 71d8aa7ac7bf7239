/** The doctor: every check again for an operator, by command and API; zone files that paste; what changed. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { createFakeDns, type FakeDns } from '../fakes/fake-dns.ts';
import { startSmtpSink } from '../fakes/smtp-sink.ts';
import { command } from './commands.ts';
import {
  fileScope,
  type Instance,
  makeToken,
  request,
  startInstance,
  temporaryFolder,
  until,
} from './harness.ts';

interface Check {
  Name: string;
  Status: 'Ok' | 'Unknown' | 'Warning' | 'Failed';
  Message: string;
  Fix: string;
}
interface DoctorFacts {
  Instance: Check[];
  Domains: {
    Domain: string;
    Status: string;
    Checks: Check[];
    Changes: { Name: string; From: string | null; To: string | null; Message: string }[];
    Zone: string;
  }[];
}

const scope = fileScope();
let server: Instance;
let dns: FakeDns;

beforeAll(async () => {
  dns = await createFakeDns({
    'post.test': { NS: ['ns.post.test'], TXT: ['v=spf1 ip4:192.0.2.1 ~all'] },
    'ns.post.test': { A: ['127.0.0.1'] },
    org: { NS: ['a0.org.test'], secure: true },
  });
  scope.defer(() => dns.close());
  server = await startInstance(scope, {
    settings: {
      dns: dns.text,
      hostname: 'mail.post.test',
      'bounce-domain': 'post.test',
      returns: '127.0.0.1:0',
      'allow-networks': '127.0.0.0/8',
      'operator-address': 'ops@post.test',
    },
    trust: { ca: [], mtaStsPort: 1, zonePort: dns.server.port },
  });
});

const doctor = (...args: string[]) => command(['doctor', ...args, '--data', server.folder]);
const checkOf = (checks: readonly Check[], name: string) => checks.find(({ Name }) => Name === name);

describe('a part of it', () => {
  it('is the server alone, or one domain alone', async () => {
    await server.call('POST', '/domains', { body: { Domain: 'part.example' } });
    const ask = async (query: string): Promise<DoctorFacts> =>
      (await server.call('GET', `/doctor?${query}`)).json;
    const ofServer = await ask('Part=server');
    expect([ofServer.Instance.length > 0, ofServer.Domains]).toEqual([true, []]);
    const ofDomain = await ask('Part=domains&Domain=part.example');
    expect(ofDomain.Instance).toEqual([]);
    expect(ofDomain.Domains.map(({ Domain }) => Domain)).toEqual(['part.example']);
    expect((await server.call('GET', '/doctor?Part=none')).status).toBe(422);
    await server.call('DELETE', '/domains/part.example');
  });
});

describe('a source with both addresses', () => {
  it.each(['on', 'off'])('is examined by each that is used: key ipv6 %s', async (ipv6) => {
    const [address, over6] = ['20.1.2.3', '2606:4700::a'];
    const nibbles = 'a.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.7.4.6.0.6.2';
    dns.set('3.2.1.20.in-addr.arpa', { PTR: ['out.post.test'] });
    dns.set(`${nibbles}.ip6.arpa`, { PTR: ['out.post.test'] });
    dns.set('out.post.test', { A: [address] });
    dns.set('two.test', { TXT: [`v=spf1 exists:%{i}.%{h}.two.test ~all`] });
    dns.set(`${address}.out.post.test.two.test`, { A: ['127.0.0.2'] });
    const folder = await temporaryFolder(scope);
    const sources = [{ id: 'a', address, ipv6: over6, ehlo: 'out.post.test' }];
    await writeFile(join(folder, 'postrider.json'), JSON.stringify({ sources }));
    const own = await startInstance(scope, {
      folder,
      settings: { route: 'mx', dns: dns.text, 'bounce-domain': 'two.test', ipv6 },
    });
    const { Instance }: DoctorFacts = (await own.call('GET', '/doctor?Part=server')).json;
    expect(checkOf(Instance, `ptr ${address}`)?.Status).toBe('Ok');
    const [ptr6, spf] = [checkOf(Instance, `ptr ${over6}`), checkOf(Instance, 'spf')];
    if (ipv6 === 'on') {
      expect(ptr6?.Message).toContain(`out.post.test does not lead back to ${over6}`);
      expect(ptr6?.Fix).toBe(`Publish an AAAA record for out.post.test with ${over6}.`);
      expect(spf?.Message).toContain(`does not cover ${over6}, from which`);
      expect(spf?.Fix).toBe(`Add ip6:${over6} before its end.`);
    } else {
      expect(ptr6).toBeUndefined();
      expect(spf).toMatchObject({ Status: 'Ok', Message: expect.stringContaining(`lets ${address} send`) });
    }
    const missing = checkOf(Instance, 'sources')?.Message;
    for (const each of [address, over6]) expect(missing).toContain(`does not have the address ${each}`);
    expect(missing?.includes('the key ipv6 is off')).toBe(ipv6 === 'off');
    await own.stop();
  });
});

describe('a relay', () => {
  it('is logged in to: a wrong password is named by doctor and, once mail met it, by readiness', async () => {
    const relay = await startSmtpSink({ auth: { user: 'shop', pass: 'right' } });
    scope.defer(() => relay.close());
    const own = await startInstance(scope, {
      settings: { route: `smtp://shop:wrong@127.0.0.1:${relay.port}`, dns: dns.text },
    });
    await own.call('POST', '/domains', { body: { Domain: 'one.example', Verified: true } });
    const facts: DoctorFacts = (await own.call('GET', '/doctor')).json;
    const check = checkOf(facts.Instance, `relay 127.0.0.1:${relay.port}`);
    expect(check).toMatchObject({
      Status: 'Failed',
      Message: expect.stringContaining('refuses the login: 535 5.7.8 wrong'),
      Fix: expect.stringContaining('Correct its user name and password (key route'),
    });
    expect(relay.counts.messages).toBe(0);
    const outgoing = async () => {
      const { Checks } = (await request('GET', `${own.server.localUrl}/readyz`)).json;
      return Checks.find(({ Name }: { Name: string }) => Name === 'outgoing');
    };
    expect(await outgoing()).toEqual({ Name: 'outgoing', Ok: true, Detail: '' });
    await own.send({ From: { email: 'shop@one.example' } });
    const told = await until('readiness names the relay', async () => {
      const found = await outgoing();
      return found.Detail === '' ? null : found;
    });
    expect(told.Detail).toMatch(new RegExp(`relay 127.0.0.1:${relay.port} fails: .*wrong`));
    expect(own.logs.find(({ msg }) => msg === 'site blocked')?.level).toBe('warn');
  });

  it('that offers no AUTH is told apart from one that refuses the login', async () => {
    const relay = await startSmtpSink();
    scope.defer(() => relay.close());
    const own = await startInstance(scope, {
      settings: { route: `smtp://shop:right@127.0.0.1:${relay.port}`, dns: dns.text },
    });
    const facts: DoctorFacts = (await own.call('GET', '/doctor?Part=server')).json;
    expect(checkOf(facts.Instance, `relay 127.0.0.1:${relay.port}`)).toMatchObject({
      Status: 'Failed',
      Message: `The relay 127.0.0.1:${relay.port} takes no login: the server offers no AUTH on port ${relay.port} without TLS.`,
      Fix: expect.stringMatching(/587.*465 with smtps.*after TLS.*remove user and password/),
    });
  });

  it('that is known has its name in the suggested SPF record', async () => {
    const own = await startInstance(scope, {
      settings: { route: 'smtp://apikey:key@smtp.sendgrid.net:587', dns: dns.text },
    });
    const made = (await own.call('POST', '/domains', { body: { Domain: 'four.example' } })).json;
    const spf = made.DnsRecords.find(({ Purpose }: { Purpose: string }) => Purpose === 'SPF');
    expect(spf.Value).toMatch(/^v=spf1 .* include:sendgrid\.net ~all$/);
  });
});

describe('postrider doctor', () => {
  it('says what is wrong with server and domain, with fixes, and exits with 1', async () => {
    await server.call('POST', '/domains', { body: { Domain: 'one.example' } });
    const result = await doctor('one.example');
    expect(result.code, result.stderr).toBe(1);
    expect(result.stdout).toContain('This server');
    expect(result.stdout).toContain('one.example: Pending');
    expect(result.stdout).toMatch(
      /FAIL {2}dkim1: +The DKIM record is missing at pr1\._domainkey\.one\.example\./,
    );
    expect(result.stdout).toMatch(/\n +Publish it exactly as shown/);
    expect(result.stdout).toMatch(
      /warn {2}returns: +The listener for bounces shows a certificate that is not trusted/,
    );
    expect(result.stdout).toMatch(/ok {4}resolver: +The resolver validates DNSSEC/);
    expect(result.stdout).toMatch(/\d+ ok, \d+ unknown, \d+ warnings?, \d+ failed\.\n$/);
  });

  it('prints a zone file that pastes: published as printed, the domain is verified', async () => {
    await server.call('POST', '/domains', { body: { Domain: 'two.example' } });
    dns.set('two.example', { MX: ['mx.two.example'], NS: ['ns.post.test'] });
    const result = await doctor('two.example', '--zone');
    expect(result.code).toBe(0);
    for (const line of result.stdout.split('\n')) {
      const [, name, text] = /^(\S+)\. \d+ IN TXT (.*)$/.exec(line) ?? [];
      if (name === undefined || text === undefined) continue;
      dns.set(name, { TXT: [[...text.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, piece]) => piece ?? '')] });
    }
    const after = await command(['domain', 'verify', 'two.example', '--data', server.folder, '--json']);
    expect(JSON.parse(after.stdout).Status).toBe('Verified');
  });

  it('tells what changed since the last run, in the answer and as text', async () => {
    await server.call('POST', '/domains', { body: { Domain: 'three.example', Verified: true } });
    dns.set('three.example', { MX: ['mx.three.example'], NS: ['ns.post.test'] });
    dns.set('_dmarc.three.example', { TXT: ['v=DMARC1; p=none'] });
    const get = async (): Promise<DoctorFacts> =>
      (await server.call('GET', '/doctor?Domain=three.example')).json;
    const first = (await get()).Domains[0];
    expect(first?.Changes).toEqual([]);
    expect(checkOf(first?.Checks ?? [], 'dmarc')?.Status).toBe('Ok');
    // Looked at a moment ago: shown as it was found, and nobody is asked again.
    const asked = dns.count('_dmarc.three.example', 'TXT');
    await get();
    expect(dns.count('_dmarc.three.example', 'TXT')).toBe(asked);

    dns.set('_dmarc.three.example', { TXT: ['v=DMARC1; p=none', 'v=DMARC1; p=reject'] });
    const verified = (await server.call('POST', '/domains/three.example/verify')).json;
    // The server has the old record in its cache, which a check that somebody starts does not use.
    const change = verified.Changes.find(({ Name }: { Name: string }) => Name === 'dmarc');
    expect(change).toMatchObject({ From: 'Ok', To: 'Failed' });
    expect(change.Message).toContain('There are 2 DMARC records');
    expect(change.Message).not.toContain('others still see');
    expect((await doctor('three.example')).stdout).toMatch(
      /What changed:\n {2}\S+ \S+ {2}dmarc: ok → FAIL: There are 2/,
    );
    const shown = (await server.call('GET', '/domains/three.example')).json;
    expect(shown.Checks).toEqual(verified.Checks);
    expect(shown.Changes).toEqual(verified.Changes);
  });

  it('is for administrators of all domains, and knows no strangers', async () => {
    const one = await makeToken(server, { Domains: ['one.example'], Scopes: ['admin'] });
    expect((await server.call('GET', '/doctor', { token: one })).status).toBe(403);
    expect((await server.call('GET', '/doctor?Domain=nobody.example')).status).toBe(404);
    expect(await doctor('nobody.example')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/there is no domain "nobody\.example"; see: .*domain list/),
    });
  });
});

describe('without a server', () => {
  it('takes the listeners as they are set, and says that they were not tried', async () => {
    const folder = await temporaryFolder(scope);
    const settings = {
      ...{ dns: dns.text, route: 'sandbox', hostname: 'mail.post.test', returns: '127.0.0.1:1' },
      'operator-address': 'ops@post.test',
    };
    await writeFile(join(folder, 'postrider.json'), JSON.stringify(settings));
    await command(['domain', 'add', 'one.example', '--data', folder]);
    const result = await command(['doctor', '--data', folder]);
    expect(result.stdout).not.toContain('the key returns is off');
    expect(result.stdout).toContain('Mail for postmaster and abuse goes to ops@post.test.');
    expect(result.stdout).toContain(`No server runs on ${folder}, so its own listeners were not tried.`);
    expect((await doctor()).stdout).not.toContain('No server runs');
  });
});
