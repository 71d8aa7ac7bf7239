/** Sender domains: the records to publish, what verify says about every usual mistake, and who may send meanwhile. */
import { beforeAll, describe, expect, it } from 'vitest';
import { createFakeDns, type FakeDns } from '../fakes/fake-dns.ts';
import { command } from './commands.ts';
import { email, fileScope, type Instance, makeToken, startInstance } from './harness.ts';

interface DnsRecord {
  Type: string;
  Host: string;
  Value: string;
  Purpose: string;
  Required: boolean;
  Status: string;
}
interface DomainFacts {
  Domain: string;
  Status: string;
  VerifiedBy: string | null;
  DnsRecords: DnsRecord[];
  Checks: { Name: string; Status: string; Host: string; Message: string; Fix: string }[];
}

const scope = fileScope();
let server: Instance;
let dns: FakeDns;
let count = 0;

beforeAll(async () => {
  dns = await createFakeDns();
  scope.defer(() => dns.close());
  server = await startInstance(scope, { settings: { dns: dns.text } });
});

/** A new domain of its own, not verified. */
async function add(): Promise<DomainFacts> {
  count += 1;
  const answer = await server.call('POST', '/domains', { body: { Domain: `d${count}.example` } });
  expect(answer.status, answer.text).toBe(201);
  return answer.json;
}

const verify = async (domain: string): Promise<DomainFacts> =>
  (await server.call('POST', `/domains/${domain}/verify`)).json;
const dkimOf = (facts: DomainFacts) => facts.DnsRecords.filter(({ Host }) => Host.includes('._domainkey.'));
const publish = (records: readonly DnsRecord[]) => {
  for (const { Host, Value } of records) dns.set(Host, { TXT: [Value] });
};

describe('postrider domain add', () => {
  it('prints records that a DNS panel takes: two DKIM keys of 2048 bits, ownership, return path', async () => {
    const made = await command(['domain', 'add', 'panel.example', '--data', server.folder]);
    expect(made.code).toBe(0);
    expect(made.stdout).toContain('Type   TXT');
    expect(made.stdout).toContain('postrider domain verify panel.example');
    const shown = await command(['domain', 'show', 'panel.example', '--data', server.folder, '--json']);
    const facts: DomainFacts = JSON.parse(shown.stdout);
    expect(facts.Status).toBe('Pending');
    const keys = dkimOf(facts);
    expect(keys).toHaveLength(2);
    for (const { Type, Host, Value } of keys) {
      expect(Type).toBe('TXT');
      expect(Host).toMatch(/^[a-z0-9-]+\._domainkey\.panel\.example$/);
      const key = Buffer.from(/p=([A-Za-z0-9+/=]+)/.exec(Value)?.[1] ?? '', 'base64');
      expect(key.length).toBeGreaterThan(290);
      expect(made.stdout).toContain(Host);
      expect(made.stdout).toContain(Value);
    }
    expect(new Set(keys.map(({ Value }) => Value)).size).toBe(2);
    const list = await command(['domain', 'list', '--data', server.folder]);
    expect(list.stdout).toMatch(/panel\.example\s+Pending/);
  });

  it('warns when the operator vouches for a domain, and lets it send', async () => {
    const made = await command(['domain', 'add', 'word.example', '--verified', '--data', server.folder]);
    expect(made.stderr).toContain('verified because you said so');
    const token = await makeToken(server, { Domains: ['word.example'] });
    const body = email({ From: { email: 'a@word.example' } });
    expect((await server.call('POST', '/email', { token, body })).status).toBe(200);
  });
});

describe('domain verify', () => {
  it('verifies what is published as shown, and then the domain may send', async () => {
    const facts = await add();
    const token = await makeToken(server, { Domains: [facts.Domain] });
    const body = email({ From: { email: `a@${facts.Domain}` } });
    const early = await server.call('POST', '/email', { token, body });
    expect([early.status, early.json.Errors[0].Code]).toEqual([403, 32]);
    expect(early.json.Error).toContain(`postrider domain verify ${facts.Domain}`);
    const other = email({ From: { email: 'a@nobody.example' } });
    expect((await server.call('POST', '/email', { token, body: other })).json.Errors[0].Code).toBe(33);

    publish(facts.DnsRecords.filter(({ Type }) => Type === 'TXT'));
    const result = await command(['domain', 'verify', facts.Domain, '--data', server.folder]);
    expect(result.code, result.stdout + result.stderr).toBe(0);
    expect(result.stdout).toContain(`${facts.Domain}: Verified`);
    expect((await server.call('POST', '/email', { token, body })).status).toBe(200);
    const after: DomainFacts = (await server.call('GET', `/domains/${facts.Domain}`)).json;
    expect(after).toMatchObject({ Status: 'Verified', VerifiedBy: 'dns' });
    for (const record of dkimOf(after)) expect(record.Status).toBe('Ok');
  });

  it('asks anew when somebody wants to know, although the record was missing a moment ago', async () => {
    const first = await add();
    expect((await verify(first.Domain)).Status).toBe('Pending');
    // The same names: a domain of which no check is remembered, so that the next one need not wait.
    await server.call('DELETE', `/domains/${first.Domain}`);
    const again: DomainFacts = (await server.call('POST', '/domains', { body: { Domain: first.Domain } }))
      .json;
    publish(again.DnsRecords.filter(({ Type }) => Type === 'TXT'));
    const doctor = await server.call('GET', `/doctor?Part=domains&Domain=${first.Domain}`);
    expect(doctor.json.Domains[0].Status).toBe('Verified');
  });

  it('says which record is missing, with exit code 1', async () => {
    const facts = await add();
    const result = await command(['domain', 'verify', facts.Domain, '--data', server.folder]);
    expect(result.code).toBe(1);
    expect(result.stdout).toContain(`${facts.Domain}: Pending`);
    expect(result.stdout).toMatch(/FAIL.*DKIM record is missing/);
    expect(result.stdout).toContain('Publish it exactly as shown');
  });

  it('says that it could not find anything out while no DNS server answers, with exit code 1', async () => {
    const name = 'unanswered.example';
    await server.call('POST', '/domains', { body: { Domain: name, Verified: true } });
    dns.fault('*', { kind: 'servfail' });
    const result = await command(['domain', 'verify', name, '--data', server.folder]);
    dns.fault('*', undefined);
    expect(result.code, result.stdout).toBe(1);
    expect(result.stdout).toContain(`It could not be found out whether ${name} is in order: `);
    expect(result.stdout).toMatch(/Find out why: \S*postrider doctor --data/);
    expect(result.stdout).toMatch(/^\? +bimi:/m);
    expect(result.stdout).not.toMatch(/^warn/m);
  });

  it('recognises a key that the panel cut at 255 characters', async () => {
    const facts = await add();
    const [key, standby] = dkimOf(facts);
    if (key === undefined || standby === undefined) throw new Error('two keys were expected');
    publish([standby]);
    dns.set(key.Host, { TXT: [key.Value.slice(0, 255)] });
    const after = await verify(facts.Domain);
    expect(after.Status).toBe('Pending');
    const check = after.Checks.find(({ Host }) => Host === key.Host);
    expect(check).toMatchObject({ Status: 'Failed', Message: expect.stringContaining('cut off') });
    expect(check?.Fix).toContain('255');
  });

  it('recognises a record to which the panel appended the zone', async () => {
    const facts = await add();
    for (const { Host, Value } of dkimOf(facts)) dns.set(`${Host}.${facts.Domain}`, { TXT: [Value] });
    const after = await verify(facts.Domain);
    expect(after.Status).toBe('Pending');
    const messages = after.Checks.map(({ Message }) => Message).join('\n');
    expect(messages).toContain('your DNS panel appended the zone');
  });

  it('takes one record split into strings, but not two records', async () => {
    const facts = await add();
    const [key, standby] = dkimOf(facts);
    if (key === undefined || standby === undefined) throw new Error('two keys were expected');
    dns.set(key.Host, { TXT: [[key.Value.slice(0, 200), key.Value.slice(200)]] });
    dns.set(standby.Host, { TXT: [standby.Value.slice(0, 200), standby.Value.slice(200)] });
    const after = await verify(facts.Domain);
    expect(after.Status).toBe('Verified');
    expect(after.Checks.find(({ Host }) => Host === standby.Host)?.Message).toContain('DKIM allows one');
  });

  it('concludes nothing from a DNS failure, and asks for patience between two checks', async () => {
    const facts = await add();
    publish(dkimOf(facts));
    for (const { Host } of dkimOf(facts)) dns.fault(Host, { kind: 'servfail' });
    const failing = await verify(facts.Domain);
    expect(failing.Status).toBe('Pending');
    expect(failing.Checks.map(({ Message }) => Message).join('\n')).toContain('SERVFAIL');
    const soon = await server.call('POST', `/domains/${facts.Domain}/verify`);
    expect([soon.status, soon.json.Errors[0].Code]).toEqual([429, 429]);
    expect(Number(soon.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('keeps a verified domain verified, and sending, while DNS is down', async () => {
    const facts = await add();
    publish(dkimOf(facts));
    expect((await verify(facts.Domain)).Status).toBe('Verified');
    const token = await makeToken(server, { Domains: [facts.Domain] });
    // A new start forgets what the resolver remembered.
    await server.stop();
    server = await startInstance(scope, { folder: server.folder, settings: { dns: dns.text } });
    dns.fault('*', { kind: 'servfail' });
    const after = await verify(facts.Domain);
    dns.fault('*', undefined);
    expect(after.Status).toBe('Verified');
    expect(after.Checks.map(({ Message }) => Message).join('\n')).toContain('SERVFAIL');
    const body = email({ From: { email: `a@${facts.Domain}` } });
    expect((await server.call('POST', '/email', { token, body })).status).toBe(200);
  });

  it('never takes a domain of another name or somebody else’s key', async () => {
    const facts = await add();
    const other = await add();
    const [own] = dkimOf(facts);
    const [foreign] = dkimOf(other);
    if (own === undefined || foreign === undefined) throw new Error('keys were expected');
    dns.set(own.Host, { TXT: [foreign.Value] });
    const after = await verify(facts.Domain);
    expect(after.Status).toBe('Pending');
    expect(after.Checks.find(({ Host }) => Host === own.Host)?.Message).toContain('differs from ours');
  });
});

describe('a sender domain in the API', () => {
  it('shows its keys, its zone file and what aligns, once that was looked at', async () => {
    const facts = await add();
    const before = (await server.call('GET', `/domains/${facts.Domain}`)).json;
    expect(before).toMatchObject({ Alignment: null, HeldFrom: null });
    expect(before.DkimKeys.map(({ Role }: { Role: string }) => Role)).toEqual(['Active', 'Standby']);
    for (const { Host, Type } of facts.DnsRecords) expect(before.Zone).toContain(`${Host}. 3600 IN ${Type} `);
    publish(facts.DnsRecords.filter(({ Type }) => Type === 'TXT'));
    const checked = (await server.call('POST', `/domains/${facts.Domain}/verify`)).json;
    expect(checked.Alignment).toEqual({
      Dkim: { Domain: facts.Domain, Strict: false, Aligns: true, Published: true },
      ReturnPath: { Host: 'mail.postrider.test', Strict: false, Aligns: false },
    });
    const rotated = (await server.call('GET', `/domains/${facts.Domain}`)).json.DkimKeys;
    expect(rotated.every(({ KeepUntil }: { KeepUntil: null }) => KeepUntil === null)).toBe(true);
  });

  it('is found by a part of its name, among the caller’s own', async () => {
    for (const Domain of ['find-a.example', 'find-b.example'])
      await server.call('POST', '/domains', { body: { Domain } });
    const own = await makeToken(server, { Domains: ['find-b.example'], Preset: 'Full' });
    const found = async (query: string, token?: string) => {
      const { json } = await server.call('GET', `/domains?${query}`, token === undefined ? {} : { token });
      return [json.Items.map((one: DomainFacts) => one.Domain), json.NextCursor];
    };
    expect(await found('Search=FIND-')).toEqual([['find-a.example', 'find-b.example'], null]);
    expect(await found('Search=find-', own)).toEqual([['find-b.example'], null]);
    expect(await found('Search=find-%25')).toEqual([[], null]);
    await server.call('POST', '/domains', { body: { Domain: 'bücher.example' } });
    expect(await found(`Search=${encodeURIComponent('Bücher.example')}`)).toEqual([
      ['xn--bcher-kva.example'],
      null,
    ]);
    const [first, cursor] = await found('Search=find-&Limit=1');
    expect(first).toEqual(['find-a.example']);
    expect(await found(`Search=find-&Limit=1&After=${cursor}`)).toEqual([['find-b.example'], null]);
  });

  it('has its limits in GET /me, and its holds in the list of holds, for who may see them', async () => {
    const body = { Domain: 'limits.example', Verified: true, Quota: { PerDay: 500 } };
    await server.call('POST', '/domains', { body });
    const { json } = await server.call('GET', '/me?Domain=limits.example');
    expect(json.Quotas).toMatchObject([{ Domain: 'limits.example', Period: 'day', Limit: 500 }]);
    expect(json.Domains).toEqual([{ Domain: 'limits.example', Status: 'Verified' }]);
    const other = await makeToken(server, { Domains: ['other.example'], Preset: 'Full' });
    expect((await server.call('GET', '/me?Domain=limits.example', { token: other })).status).toBe(404);
    for (const SenderDomain of ['limits.example', 'other.example'])
      await server.call('POST', '/queue/hold', { body: { SenderDomain, Reason: `of ${SenderDomain}` } });
    const holds = (await server.call('GET', '/queue/holds?SenderDomain=Limits.example')).json.Items;
    expect(holds.map(({ Reason }: { Reason: string }) => Reason)).toEqual(['of limits.example']);
  });
});

describe('domain remove', () => {
  it('ends sending at once', async () => {
    await command(['domain', 'add', 'gone.example', '--verified', '--data', server.folder]);
    const token = await makeToken(server, { Domains: ['gone.example'] });
    const body = email({ From: { email: 'a@gone.example' } });
    expect((await server.call('POST', '/email', { token, body })).status).toBe(200);
    const removed = await command(['domain', 'remove', 'gone.example', '--data', server.folder]);
    expect(removed.code).toBe(0);
    const after = await server.call('POST', '/email', { token, body });
    expect(after.status).toBe(403);
    expect((await server.call('GET', '/domains/gone.example')).status).toBe(404);
  });
});
