import { afterEach, describe, expect, it } from 'vitest';
import { createFakeDns, type FakeDns, type FakeZones } from '../../../../test/fakes/fake-dns.ts';
import { systemClock } from '../../../lib/clock.ts';
import { createSystemRandom } from '../../../lib/random.ts';
import { createResolver } from '../../../net/resolver.ts';
import type { DatabaseUpkeep } from '../../../store/topics/instance.ts';
import { examineInstance, goodForMs } from './instance.ts';
import { isGeneric } from './instance-addresses.ts';
import type { InstanceFacts, InstanceProbes } from './instance-facts.ts';

const NOW = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;
const FACTS: InstanceFacts = {
  hostname: 'mail.post.test',
  bounceDomain: 'post.test',
  unusedIpv6: null,
  direct: true,
  relays: [],
  addresses: [{ address: '192.0.2.10', ehlo: 'mail.post.test' }],
  returns: { host: '0.0.0.0', port: 25 },
  https: { host: 'mail.post.test' },
  links: { url: 'https://mail.post.test', reach: 'one-click' },
  operatorAddress: 'ops@example.com',
  blockLists: ['secret-key.zen.list.test'],
  dataFolder: '/var/lib/postrider',
  identityIssuer: null,
};
const RELAY = { host: 'smtp.relay.test', port: 587, login: true, maxMessageBytes: 26_214_400 };
const PROBES: InstanceProbes = {
  port25: async () => ({ kind: 'open', detail: '198.51.100.7:25 answers' }),
  relay: async () => ({ kind: 'ready', tls: 'verified', size: null }),
  returns: async () => ({ kind: 'valid', validUntil: NOW + 60 * DAY_MS }),
  https: async () => ({ kind: 'valid', validUntil: NOW + 60 * DAY_MS }),
  certificateProblems: async () => [],
  missingSources: () => [],
  clockOffsetMs: async () => 400,
  freeSpace: async () => ({ bytes: 40 * 2 ** 30, share: 0.4, fileShare: 0.9 }),
  readableByOthers: async () => [],
  otherNodes: async () => null,
  databaseUpkeep: async () => null,
  identityProvider: async () => null,
};
const SPF = 'v=spf1 ip4:192.0.2.10 -all';
const LISTED = '10.2.0.192.secret-key.zen.list.test';
const good = (): FakeZones => ({
  '10.2.0.192.in-addr.arpa': { PTR: ['mail.post.test'] },
  'mail.post.test': { A: ['192.0.2.10'] },
  'post.test': { MX: ['mail.post.test'], TXT: ['v=spf1 ip4:192.0.2.0/28 -all'] },
  org: { NS: ['a0.org.test'], secure: true },
});

const upkeepOf = (more: Partial<DatabaseUpkeep>): Partial<InstanceProbes> => ({
  databaseUpkeep: async () => ({
    ...{ automatic: true, oldRows: 1_000, rows: 1e6, keptBy: null, eventsHeldBy: null, numbersUsed: 0.1 },
    ...{ logKeptBy: 'standby', logKeptBytes: 2 ** 30 },
    ...more,
  }),
});
const freeOf = (share: number, fileShare: number): Partial<InstanceProbes> => ({
  freeSpace: async () => ({ bytes: 2 ** 30, share, fileShare }),
});

const open: { close(): Promise<void> | void }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

async function examine(...given: Parameters<typeof checksOf>) {
  return (await checksOf(...given)).map(
    ({ id, severity, message, fix }) =>
      `${severity.padEnd(4)} ${id}: ${message}${fix === '' ? '' : ` → ${fix}`}`,
  );
}

async function checksOf(
  zones: FakeZones,
  facts: Partial<InstanceFacts> = {},
  probes: Partial<InstanceProbes> = {},
  prepare: (dns: FakeDns) => void = () => {},
) {
  const dns = await createFakeDns(zones);
  prepare(dns);
  const resolver = createResolver({
    clock: systemClock,
    random: createSystemRandom(),
    servers: () => [dns.server],
  });
  open.push(dns, resolver);
  return examineInstance({ resolver, probes: { ...PROBES, ...probes }, now: NOW }, { ...FACTS, ...facts });
}

describe('a server in order', () => {
  it('has nothing to mend, and says what was looked at', async () => {
    const sentences = await examine(good());
    expect(sentences.join('\n')).toMatchSnapshot();
    expect(sentences.every((sentence) => sentence.startsWith('ok'))).toBe(true);
  });

  it('is examined again after an hour, and after a minute where the DNS gave no answer', async () => {
    expect(goodForMs(await checksOf(good()))).toBe(3_600_000);
    const away = await checksOf(good(), {}, {}, (dns) => dns.fault('org', { kind: 'servfail' }));
    expect(goodForMs(away)).toBe(60_000);
  });
});

it.each([
  [{ kind: 'refused' }, /refuses to look up names for it \(.*: REFUSED\)\.$/, /Allow this server to ask it/],
  [{ kind: 'lame' }, /refuses to look up names for it \(.*lame.*\)\.$/, /recursion/],
  [
    { kind: 'nxdomain' },
    /denies every domain \(.*not even com does.*\)\.$/,
    /no way to the DNS of the internet/,
  ],
  [{ kind: 'servfail' }, /answers that it failed, even for org \(.*: SERVFAIL\)\.$/, /See in its log/],
  [{ kind: 'garbage', bytes: Uint8Array.of(1) }, /answers what cannot be read/, /what answers there/],
] as const)('a resolver that answers %o is described by what it said', async (fault, message, fix) => {
  const checks = await checksOf(good(), {}, {}, (dns) => {
    for (const name of ['org', 'com']) dns.fault(name, fault);
  });
  expect(checks.find(({ id }) => id === 'resolver')).toMatchObject({
    severity: 'fail',
    message: expect.stringMatching(message),
    fix: expect.stringMatching(fix),
  });
});

/** What is wrong, the check that says so with its severity, zones, facts, probes. */
const FAULTS: readonly [string, string, FakeZones, Partial<InstanceFacts>?, Partial<InstanceProbes>?][] = [
  ['no PTR', 'fail ptr', { '10.2.0.192.in-addr.arpa': {} }],
  [
    'a PTR of another name',
    'warn ptr',
    { '10.2.0.192.in-addr.arpa': { PTR: ['other.post.test'] }, 'other.post.test': { A: ['192.0.2.10'] } },
  ],
  ['a PTR that leads elsewhere', 'fail ptr', { 'mail.post.test': { A: ['192.0.2.77'] } }],
  [
    'a generic PTR',
    'warn ptr',
    {
      '10.2.0.192.in-addr.arpa': { PTR: ['192-0-2-10.pool.isp.test'] },
      '192-0-2-10.pool.isp.test': { A: ['192.0.2.10'] },
    },
  ],
  ['SPF without the address', 'fail spf', { 'post.test': { TXT: ['v=spf1 ip4:192.0.2.64/28 -all'] } }],
  ['no SPF', 'fail spf', { 'post.test': {} }],
  ['SPF by macro', 'warn spf', { 'post.test': { TXT: ['v=spf1 exists:%{l}.spf.post.test -all'] } }],
  ['SPF for everybody', 'fail spf', { 'post.test': { TXT: ['v=spf1 ip4:192.0.2.10 +all'] } }],
  ['two SPF records', 'fail spf', { 'post.test': { TXT: ['v=spf1 ip4:192.0.2.10 -all', 'v=spf1 -all'] } }],
  ['a bounce domain with SPF alone', 'fail bounce-domain', { 'post.test': { TXT: [SPF] } }],
  ['a bounce domain with a null MX', 'fail bounce-domain', { 'post.test': { MX: [[0, '']], TXT: [SPF] } }],
  [
    'a bounce domain whose MX has no address',
    'fail bounce-domain',
    { 'post.test': { MX: ['gone.post.test'], TXT: [SPF] } },
  ],
  [
    'a bounce domain that is the server itself, without an address',
    'fail bounce-domain',
    { 'mail.post.test': { TXT: [SPF] } },
    { bounceDomain: 'mail.post.test' },
  ],
  [
    'a bounce domain behind a relay',
    'warn bounce-domain',
    { 'post.test': { TXT: [SPF] } },
    { direct: false, addresses: [], relays: [RELAY] },
  ],
  [
    'a bounce domain whose mail goes elsewhere',
    'warn bounce-domain',
    { 'post.test': { MX: ['mx.other.test'], TXT: [SPF] }, 'mx.other.test': { A: ['198.51.100.7'] } },
  ],
  ['a listed address', 'fail dnsbl', { [LISTED]: { A: ['127.0.0.2'] } }],
  ['a list that refuses', 'warn dnsbl', { [LISTED]: { A: ['127.255.255.254'] } }],
  ['a resolver that does not validate', 'warn resolver', { org: { NS: ['a0.org.test'] } }],
  ['a name without a domain', 'fail name', {}, { hostname: 'myhost' }],
  ['no known address', 'warn name', {}, { addresses: [] }],
  [
    'port 25 closed',
    'fail port25',
    {},
    {},
    { port25: async () => ({ kind: 'blocked', detail: 'outgoing port 25 seems blocked' }) },
  ],
  [
    'port 25 unknown',
    'unknown port25',
    {},
    {},
    { port25: async () => ({ kind: 'unknown', detail: 'no host was named to try' }) },
  ],
  [
    'a relay with no address',
    'fail relay',
    {},
    { relays: [RELAY] },
    { relay: async () => ({ kind: 'unresolved', detail: 'it has no address' }) },
  ],
  [
    'a relay that is not there',
    'fail relay',
    {},
    { relays: [RELAY] },
    { relay: async () => ({ kind: 'unreachable', detail: 'connection refused' }) },
  ],
  [
    'a relay with a certificate of nobody',
    'fail relay',
    {},
    { relays: [RELAY] },
    { relay: async () => ({ kind: 'tls', detail: 'DEPTH_ZERO_SELF_SIGNED_CERT' }) },
  ],
  [
    'a relay with an old certificate',
    'fail relay',
    {},
    { relays: [RELAY] },
    { relay: async () => ({ kind: 'tls', detail: 'CERT_HAS_EXPIRED' }) },
  ],
  [
    'a relay with a certificate for another name',
    'fail relay',
    {},
    { relays: [RELAY] },
    { relay: async () => ({ kind: 'tls', detail: 'ERR_TLS_CERT_ALTNAME_INVALID' }) },
  ],
  [
    'a relay that does not begin with TLS',
    'fail relay',
    {},
    { relays: [RELAY] },
    { relay: async () => ({ kind: 'tls', detail: 'ERR_SSL_WRONG_VERSION_NUMBER' }) },
  ],
  [
    'a relay that refuses the login',
    'fail relay',
    {},
    { relays: [RELAY] },
    { relay: async () => ({ kind: 'login', detail: '535 5.7.8 wrong' }) },
  ],
  [
    'a relay that takes no login',
    'fail relay',
    {},
    { relays: [RELAY] },
    { relay: async () => ({ kind: 'no-login', detail: 'the server offers no AUTH on port 587' }) },
  ],
  [
    'a relay that refuses us',
    'fail relay',
    {},
    { relays: [RELAY] },
    { relay: async () => ({ kind: 'refused', detail: '554 no' }) },
  ],
  [
    'a relay that takes less',
    'warn relay',
    {},
    { relays: [RELAY] },
    { relay: async () => ({ kind: 'ready', tls: 'verified', size: 10_485_760 }) },
  ],
  [
    'a relay in order',
    'ok   relay',
    {},
    { relays: [RELAY] },
    { relay: async () => ({ kind: 'ready', tls: 'verified', size: null }) },
  ],
  ['no listener for bounces', 'warn returns', {}, { returns: 'off' }],
  [
    'a deaf listener for bounces',
    'fail returns',
    {},
    {},
    { returns: async () => ({ kind: 'unreachable', detail: 'ECONNREFUSED' }) },
  ],
  [
    'a listener without TLS',
    'warn returns',
    {},
    {},
    { returns: async () => ({ kind: 'no-tls', detail: 'STARTTLS is not offered' }) },
  ],
  [
    'a self-signed listener',
    'warn returns',
    {},
    {},
    { returns: async () => ({ kind: 'invalid', detail: 'DEPTH_ZERO_SELF_SIGNED_CERT' }) },
  ],
  [
    'a certificate that ends',
    'warn returns',
    {},
    {},
    { returns: async () => ({ kind: 'valid', validUntil: NOW + 3 * DAY_MS }) },
  ],
  [
    'a deaf listener of the API',
    'fail https',
    {},
    {},
    { https: async () => ({ kind: 'unreachable', detail: 'ECONNRESET' }) },
  ],
  [
    'a certificate of the API that has ended',
    'fail https',
    {},
    {},
    { https: async () => ({ kind: 'invalid', detail: 'CERT_HAS_EXPIRED' }) },
  ],
  [
    'a certificate of the API without its chain',
    'warn https',
    {},
    {},
    { https: async () => ({ kind: 'invalid', detail: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' }) },
  ],
  [
    'a certificate of the API that ends soon',
    'warn https',
    {},
    {},
    { https: async () => ({ kind: 'valid', validUntil: NOW + 3 * DAY_MS }) },
  ],
  ['links to this machine', 'warn links', {}, { links: { url: 'http://127.0.0.1:8025', reach: 'none' } }],
  ['links without TLS', 'warn links', {}, { links: { url: 'http://mail.post.test', reach: 'page' } }],
  [
    'a certificate file that is gone',
    'fail certificates',
    {},
    {},
    {
      certificateProblems: async () => ['/etc/tls/cert.pem cannot be read: it does not exist. Put it there.'],
    },
  ],
  ['a clock that is slow', 'warn clock', {}, {}, { clockOffsetMs: async () => -30_000 }],
  ['a clock that is wrong', 'fail clock', {}, {}, { clockOffsetMs: async () => 3_600_000 }],
  ['a clock nobody knows of', 'unknown clock', {}, {}, { clockOffsetMs: async () => null }],
  ['a database without autovacuum', 'warn database', {}, {}, upkeepOf({ automatic: false })],
  [
    'a database that keeps old rows',
    'warn database',
    {},
    {},
    upkeepOf({ oldRows: 2e6, rows: 3e6, keptBy: 'the process 7' }),
  ],
  [
    'a database in which events wait for a transaction',
    'warn database',
    {},
    {},
    upkeepOf({ eventsHeldBy: 'the process 7 (psql)' }),
  ],
  ['a log that fills the disk', 'warn database', {}, {}, upkeepOf({ logKeptBytes: 11 * 2 ** 30 })],
  ['a database that soon refuses writes', 'fail database', {}, {}, upkeepOf({ numbersUsed: 0.8 })],
  ['nobody to write to', 'warn operator', {}, { operatorAddress: null }],
  ['little disk', 'warn disk', {}, {}, freeOf(0.1, 0.9)],
  ['no disk', 'fail disk', {}, {}, freeOf(0.02, 0.9)],
  ['few inodes', 'warn disk', {}, {}, freeOf(0.4, 0.04)],
  ['no inodes', 'fail disk', {}, {}, freeOf(0.4, 0)],
  [
    'a node with other settings',
    'warn nodes',
    {},
    {},
    {
      otherNodes: async () => [
        { name: 'mail1', otherVersion: null, differsIn: [] },
        { name: 'mail2', otherVersion: null, differsIn: ['route', 'max-age'] },
      ],
    },
  ],
  [
    'a node of another version',
    'warn nodes',
    {},
    {},
    { otherNodes: async () => [{ name: 'mail2', otherVersion: '0.9.0', differsIn: [] }] },
  ],
  [
    'a source whose address is not here',
    'fail sources',
    {},
    {},
    { missingSources: () => [{ id: 'second', address: '203.0.113.9' }] },
  ],
  ['an IPv6 address of a source, and the key off', 'warn sources', {}, { unusedIpv6: 'off' }],
  ['the key ipv6, and no source with an address', 'warn sources', {}, { unusedIpv6: 'no-address' }],
  ['secrets others can read', 'fail data', {}, {}, { readableByOthers: async () => ['secret-key'] }],
];

describe('the doctor says what is wrong with the server', () => {
  it.each(FAULTS)('%s', async (_what, begins, zones, facts = {}, probes = {}) => {
    const sentences = await examine({ ...good(), ...zones }, facts, probes);
    const found = sentences.filter((sentence) => sentence.startsWith(begins));
    expect(found, sentences.join('\n')).toHaveLength(1);
    expect(found[0]).toMatchSnapshot();
    // The key in the name of a block list is nobody else's to see.
    expect(sentences.join('\n')).not.toContain('secret-key.zen');
  });

  it.each<[string, FakeZones, Partial<InstanceFacts>?]>([
    ['by its own address', { 'post.test': { A: ['192.0.2.10'], TXT: [SPF] } }],
    [
      'by another name of this server',
      { 'post.test': { MX: ['mx.post.test'], TXT: [SPF] }, 'mx.post.test': { A: ['192.0.2.10'] } },
    ],
    [
      'by the name of this server, though it sends from another address',
      { 'mail.post.test': { A: ['192.0.2.10', '192.0.2.77'] } },
    ],
    [
      'elsewhere, where the listener for bounces is in another process',
      { 'post.test': { MX: ['mx.other.test'], TXT: [SPF] }, 'mx.other.test': { A: ['198.51.100.7'] } },
      { returns: 'elsewhere' },
    ],
  ])('accepts bounces %s', async (_where, zones, facts) => {
    const sentences = await examine({ ...good(), ...zones }, facts);
    expect(sentences.filter((sentence) => sentence.startsWith('ok   bounce-domain'))).toHaveLength(1);
  });

  it('concludes nothing about the bounce domain from silence', async () => {
    for (const target of ['MX post.test', 'mail.post.test']) {
      const sentences = await examine(good(), {}, {}, (dns) => dns.fault(target, { kind: 'servfail' }));
      const found = sentences.find((sentence) => sentence.includes('bounce-domain:'));
      expect(found).toMatch(/^unknown bounce-domain: The look-up of .* failed for now/);
    }
  });

  it('names every address that SPF does not cover', async () => {
    const addresses = [1, 2, 3, 4, 5, 6].map((n) => ({ address: `198.51.100.${n}`, ehlo: 'mail.post.test' }));
    const sentences = await examine(good(), { addresses });
    expect(sentences.find((sentence) => sentence.startsWith('fail spf'))).toContain(
      `Add ${addresses.map(({ address }) => `ip4:${address}`).join(' ')} before its end.`,
    );
  });

  it('names the address where complaints are counted', async () => {
    const told = async (returns: InstanceFacts['returns']) =>
      (await examine(good(), { returns })).find((sentence) => sentence.includes('feedback:'));
    const { returns } = FACTS;
    expect(await told(returns)).toContain('fbl@post.test as the address for reports: complaints are counted');
    expect(await told('off')).toContain(
      'fbl@post.test as the address for reports: once the key returns is set',
    );
  });

  it('says nothing of addresses, port 25 and feedback loops where a relay sends', async () => {
    const sentences = await examine(good(), { direct: false, addresses: [] });
    expect(
      sentences.filter((sentence) => /ptr|port25|feedback|spf|dnsbl/.test(sentence.slice(5, 14))),
    ).toEqual([]);
    expect(sentences.every((sentence) => sentence.startsWith('ok'))).toBe(true);
  });
});

describe('isGeneric', () => {
  it.each([
    ['mail.example.com', false],
    ['mx10.example.com', false],
    ['mx-2-10.example.com', false],
    ['192-0-2-10.isp.example', true],
    ['10.2.0.192.isp.example', true],
    ['host-192-0-2-10.isp.example', true],
    ['dynamic.10.isp.example', true],
    ['pool-7.isp.example', true],
    ['static-shop.example.com', false],
  ])('%s: %s', (name, generic) => {
    expect(isGeneric(name, '192.0.2.10')).toBe(generic);
  });
});
