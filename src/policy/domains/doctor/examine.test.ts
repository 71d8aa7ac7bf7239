/**
 * Zones with every fault of the doctor's table, over real DNS on loopback: the same server as the zone's own and as the
 * resolver, or two that do not agree. The sentences stand in a snapshot, to be read.
 */
import { generateKeyPairSync } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { createFakeDns, type FakeDns, type FakeZones } from '../../../../test/fakes/fake-dns.ts';
import { systemClock } from '../../../lib/clock.ts';
import { createSystemRandom } from '../../../lib/random.ts';
import { createAddressFilter } from '../../../net/address-filter.ts';
import type { CertificateFacts } from '../../../net/certificate-probe.ts';
import { createResolver } from '../../../net/resolver.ts';
import { createZoneServers } from '../../../net/zone-servers.ts';
import type { DomainVerification } from '../verify.ts';
import type { DomainCheck } from './check.ts';
import { reportedSources } from './dmarc-reports.ts';
import { createDomainDoctor } from './domain-doctor.ts';
import type { ExaminedDomain } from './examine.ts';
import type { LookupLimits } from './lookups.ts';

const TOKEN = '0123456789abcdef0123456789abcdef';
const D = 'shop.example';
const OWN = `_postrider-verify.${D}`;
const DKIM1 = `pr1._domainkey.${D}`;
const DKIM2 = `pr2._domainkey.${D}`;
const BOUNCES = `bounce.${D}`;
const TRACK = `track.${D}`;
const SERVER = 'mail.post.test';
const SOURCE = '192.0.2.10';
const keyOf = (bits: number): string =>
  generateKeyPairSync('rsa', { modulusLength: bits })
    .publicKey.export({ type: 'spki', format: 'der' })
    .toString('base64');
const KEY1 = keyOf(2048);
const KEY2 = keyOf(2048);
const NOW = Date.UTC(2026, 0, 1);

const good = (): FakeZones => ({
  [D]: { NS: ['ns1.example.net', 'ns2.example.net'], MX: ['mx.shop.example'], TXT: ['v=spf1 mx ~all'] },
  'mx.shop.example': { A: ['192.0.2.99'] },
  'ns1.example.net': { A: ['127.0.0.1'] },
  'ns2.example.net': { A: ['127.0.0.1'] },
  [OWN]: { TXT: [`postrider-verify=${TOKEN}`] },
  [DKIM1]: { TXT: [`v=DKIM1; k=rsa; p=${KEY1}`] },
  [DKIM2]: { TXT: [`v=DKIM1; k=rsa; p=${KEY2}`] },
  [BOUNCES]: { MX: [SERVER], TXT: [`v=spf1 a:${SERVER} mx:${SERVER} ~all`] },
  [TRACK]: { CNAME: SERVER },
  [`_dmarc.${D}`]: { TXT: ['v=DMARC1; p=none; rua=mailto:d@shop.example'] },
  [SERVER]: { A: [SOURCE] },
});

const open: { close(): Promise<void> | void }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

interface Setting {
  examined?: Partial<ExaminedDomain>;
  addresses?: readonly string[];
  certificate?: CertificateFacts;
  limits?: LookupLimits;
  /** Nobody answers. */
  silent?: true;
  /** What resolvers say, where that is not what the zone says. */
  others?: FakeZones;
  prepare?: (zone: FakeDns, others: FakeDns) => void;
}

async function examine(zones: FakeZones, setting: Setting = {}) {
  const zone = await createFakeDns(zones);
  const others = setting.others === undefined ? zone : await createFakeDns(setting.others);
  const random = createSystemRandom();
  const resolver = createResolver(
    { clock: systemClock, random, servers: () => [others.server] },
    // A busy machine answers late; only where nobody is to answer is it waited for less.
    { timeoutMs: setting.silent === true ? 200 : 10_000, tries: 1 },
  );
  open.push(zone, ...(others === zone ? [] : [others]), resolver);
  setting.prepare?.(zone, others);
  const filter = createAddressFilter({ allowNetworks: ['127.0.0.0/8'] });
  if (filter.kind === 'invalid') throw new Error(filter.detail);
  const doctor = createDomainDoctor(
    {
      resolver,
      clock: { ...systemClock, now: () => NOW },
      random,
      zoneServers: () =>
        createZoneServers({ resolver, filter, clock: systemClock, random }, { port: zone.server.port }),
      addresses: async () => (setting.addresses ?? [SOURCE]).map((address) => ({ address, ehlo: SERVER })),
      certificate: async () => setting.certificate ?? { kind: 'valid', validUntil: NOW + 60 * 86_400_000 },
    },
    setting.limits,
  );
  const result = await doctor.examine({
    domain: D,
    verifyToken: TOKEN,
    keys: [
      { selector: 'pr1', role: 'active', publicKey: KEY1 },
      { selector: 'pr2', role: 'standby', publicKey: KEY2 },
    ],
    bounceDomain: SERVER,
    returnPathHost: BOUNCES,
    tracking: { host: TRACK, target: SERVER },
    reportsTo: null,
    bulk: false,
    subdomains: false,
    ...setting.examined,
  });
  return { result, zone, others };
}

function of(result: DomainVerification, id: string): DomainCheck {
  const found = result.checks.find((each) => each.id === id);
  if (found === undefined) throw new Error(`no check ${id} in ${result.checks.map((each) => each.id)}`);
  return found;
}

const sentence = ({ id, severity, message, fix }: DomainCheck): string =>
  `${severity.padEnd(4)} ${id}: ${message}${fix === '' ? '' : ` → ${fix}`}`;
const withRecords = (more: FakeZones): FakeZones => ({ ...good(), ...more });
const spf = (text: string, more: FakeZones = {}): FakeZones =>
  withRecords({ [BOUNCES]: { MX: [SERVER], TXT: [text] }, ...more });
const dmarc = (...texts: string[]): FakeZones => withRecords({ [`_dmarc.${D}`]: { TXT: texts } });
const chain = (count: number): FakeZones =>
  Object.fromEntries(
    Array.from({ length: count }, (_, i) => [
      `s${i}.example`,
      { TXT: [`v=spf1 ${i + 1 < count ? `include:s${i + 1}.example` : `ip4:${SOURCE}`} ~all`] },
    ]),
  );

describe('a domain in order', () => {
  it('has nothing to mend', async () => {
    const { result, zone } = await examine(good());
    expect(result.verified).toBe(true);
    expect(result.checks.map(sentence).join('\n')).toMatchSnapshot();
    expect(result.checks.every(({ severity }) => severity === 'ok')).toBe(true);
    expect(zone.queries.length).toBeLessThan(120);
  });
});

/** What is wrong, the zone, the check that says so, how severe. */
const FAULTS: readonly [string, FakeZones, string, 'warn' | 'fail', Setting?][] = [
  [
    'a key cut at 255',
    withRecords({ [DKIM1]: { TXT: [`v=DKIM1; k=rsa; p=${KEY1.slice(0, 237)}`] } }),
    'dkim1',
    'fail',
  ],
  [
    'a key in other case',
    withRecords({ [DKIM1]: { TXT: [`v=DKIM1; k=rsa; p=${KEY1.toUpperCase()}`] } }),
    'dkim1',
    'fail',
  ],
  ['a key revoked', withRecords({ [DKIM1]: { TXT: ['v=DKIM1; p='] } }), 'dkim1', 'fail'],
  [
    'two key records',
    withRecords({ [DKIM1]: { TXT: [`v=DKIM1; p=${KEY1}`, 'v=DKIM1; p=x'] } }),
    'dkim1',
    'fail',
  ],
  ['a test flag', withRecords({ [DKIM1]: { TXT: [`v=DKIM1; t=y; p=${KEY1}`] } }), 'dkim1', 'warn'],
  [
    'a zone appended',
    withRecords({ [DKIM1]: {}, [`${DKIM1}.${D}`]: { TXT: [`v=DKIM1; p=${KEY1}`] } }),
    'dkim1',
    'fail',
  ],
  [
    'a return path elsewhere',
    withRecords({ [BOUNCES]: { MX: ['mx.other.example'], TXT: [`v=spf1 ip4:${SOURCE} -all`] } }),
    'rp',
    'warn',
  ],
  ['a return path nowhere', withRecords({ [BOUNCES]: { TXT: [`v=spf1 ip4:${SOURCE} -all`] } }), 'rp', 'fail'],
  [
    'a return path that takes no mail',
    withRecords({ [BOUNCES]: { MX: [[0, '']], A: [SOURCE], TXT: [`v=spf1 ip4:${SOURCE} -all`] } }),
    'rp',
    'fail',
  ],
  [
    'a return path with only an address',
    withRecords({ [BOUNCES]: { A: [SOURCE], TXT: [`v=spf1 ip4:${SOURCE} -all`] } }),
    'rp',
    'warn',
  ],
  [
    'a return path at an alias of nothing',
    withRecords({ [SERVER]: {}, [BOUNCES]: { CNAME: SERVER } }),
    'rp',
    'fail',
  ],
  [
    'a return path at an address',
    withRecords({ [BOUNCES]: { MX: ['192.0.2.7', SERVER], TXT: [`v=spf1 ip4:${SOURCE} -all`] } }),
    'rp',
    'warn',
  ],
  [
    'a return path at an alias',
    withRecords({
      [BOUNCES]: { MX: [SERVER, 'alias.example'], TXT: [`v=spf1 ip4:${SOURCE} -all`] },
      'alias.example': { CNAME: SERVER },
    }),
    'rp',
    'warn',
  ],
  [
    'an alias beside records',
    withRecords({
      [BOUNCES]: { CNAME: SERVER, MX: [SERVER], TXT: [`v=spf1 ip4:${SOURCE} -all`], besideAlias: true },
    }),
    'rp',
    'warn',
  ],
  [
    'a return path at a bounce domain without an address',
    withRecords({ [SERVER]: { MX: ['in.post.test'] }, 'in.post.test': { A: [SOURCE] } }),
    'rp',
    'warn',
  ],
  [
    'a return path at a bounce domain without any record',
    withRecords({ [SERVER]: {}, [BOUNCES]: { MX: [SERVER], TXT: [`v=spf1 ip4:${SOURCE} -all`] } }),
    'rp',
    'warn',
  ],
  ['no SPF', withRecords({ [BOUNCES]: { MX: [SERVER] } }), 'spf', 'fail'],
  [
    'two SPF records',
    withRecords({ [BOUNCES]: { MX: [SERVER], TXT: ['v=spf1 -all', 'v=spf1 a ~all'] } }),
    'spf',
    'fail',
  ],
  ['SPF that cannot be read', spf(`v=spf1 ipv4:${SOURCE} -all`), 'spf', 'fail'],
  ['SPF for everybody', spf('v=spf1 +all'), 'spf', 'fail'],
  ['SPF of 11 look-ups', spf('v=spf1 include:s0.example ~all', chain(11)), 'spf', 'fail'],
  ['SPF that includes itself', spf(`v=spf1 include:${BOUNCES} ~all`), 'spf', 'fail'],
  [
    'SPF of names that are gone',
    spf(`v=spf1 a:n1.example a:n2.example a:n3.example ip4:${SOURCE} ~all`),
    'spf',
    'fail',
  ],
  ['SPF that includes nothing', spf(`v=spf1 include:gone.example ip4:${SOURCE} ~all`), 'spf', 'fail'],
  [
    'SPF that includes a record that cannot be read',
    spf(`v=spf1 include:odd.example ip4:${SOURCE} ~all`, { 'odd.example': { TXT: ['v=spf1 ipv4:1 ~all'] } }),
    'spf',
    'fail',
  ],
  [
    'SPF that includes nothing further down',
    spf(`v=spf1 include:s0.example ip4:${SOURCE} ~all`, {
      's0.example': { TXT: ['v=spf1 include:gone.example ~all'] },
    }),
    'spf',
    'fail',
  ],
  [
    'SPF that includes two records further down',
    spf(`v=spf1 include:s0.example ip4:${SOURCE} ~all`, {
      's0.example': { TXT: ['v=spf1 redirect=two.example'] },
      'two.example': { TXT: ['v=spf1 -all', 'v=spf1 ~all'] },
    }),
    'spf',
    'fail',
  ],
  [
    'SPF of an mx with 11 hosts',
    spf(`v=spf1 mx:many.example ip4:${SOURCE} ~all`, {
      'many.example': { MX: Array.from({ length: 11 }, (_, i) => `mx${i}.many.example`) },
    }),
    'spf',
    'fail',
  ],
  ['SPF with two redirects', spf('v=spf1 redirect=s0.example redirect=s0.example', chain(1)), 'spf', 'fail'],
  ['SPF with two explanations', spf(`v=spf1 ip4:${SOURCE} ~all exp=a.example exp=b.example`), 'spf', 'fail'],
  ['SPF with an empty redirect', spf(`v=spf1 ip4:${SOURCE} redirect=`), 'spf', 'fail'],
  ['SPF with an address as a name', spf(`v=spf1 a:192.0.2.7 ip4:${SOURCE} ~all`), 'spf', 'fail'],
  ['SPF by ptr', spf(`v=spf1 ptr ip4:${SOURCE} ~all`), 'spf', 'warn'],
  ['SPF without an end', spf(`v=spf1 ip4:${SOURCE}`), 'spf', 'warn'],
  ['SPF of other addresses', spf('v=spf1 ip4:192.0.2.64/26 ip6:2001:db8::/32 -all'), 'spf', 'fail'],
  ['SPF with a stray percent sign', spf(`v=spf1 exists:%i.spf.example ip4:${SOURCE} -all`), 'spf', 'fail'],
  ['SPF by a macro of the address', spf('v=spf1 exists:%{i}.spf.example -all'), 'spf', 'fail'],
  [
    'SPF by macros, with three names that do not exist',
    spf(`v=spf1 exists:%{i}.a.example exists:%{i}.b.example exists:%{i}.c.example ip4:${SOURCE} -all`),
    'spf',
    'fail',
  ],
  [
    'SPF by a macro that leads to no record',
    spf('v=spf1 include:%{ir}.%{v}._spf.example -all'),
    'spf',
    'fail',
  ],
  ['SPF by a macro of the local part', spf('v=spf1 exists:%{l}.spf.example -all'), 'spf', 'warn'],
  ['SPF by a macro of the validated name', spf('v=spf1 a:%{p}.spf.example -all'), 'spf', 'warn'],
  [
    'SPF that may refuse by the local part',
    spf(`v=spf1 -exists:%{S}.spf.example ip4:${SOURCE} -all`),
    'spf',
    'warn',
  ],
  ['SPF with a macro of zero parts', spf(`v=spf1 exists:%{d0}.x.example ip4:${SOURCE} -all`), 'spf', 'fail'],
  ['SPF with a macro of explanations', spf(`v=spf1 ip4:${SOURCE} redirect=%{c}.example`), 'spf', 'fail'],
  ['SPF with a prefix of an include', spf(`v=spf1 include:s0.example/24 ip4:${SOURCE} -all`), 'spf', 'fail'],
  ['a source that is not covered', good(), 'spf', 'fail', { addresses: [SOURCE, '2001:db8::1'] }],
  ['no DMARC', withRecords({ [`_dmarc.${D}`]: {} }), 'dmarc', 'warn'],
  [
    'no DMARC for newsletters',
    withRecords({ [`_dmarc.${D}`]: {} }),
    'dmarc',
    'fail',
    { examined: { bulk: true } },
  ],
  ['two DMARC records', dmarc('v=DMARC1; p=none', 'v=DMARC1; p=reject'), 'dmarc', 'fail'],
  ['DMARC without a policy', dmarc('v=DMARC1;'), 'dmarc', 'fail'],
  ['DMARC with reports alone', dmarc('v=DMARC1; rua=mailto:d@shop.example'), 'dmarc', 'warn'],
  ['DMARC of yesterday', dmarc('v=DMARC1; p=reject; pct=50; ri=3600'), 'dmarc', 'warn'],
  ['DMARC as a test', dmarc('v=DMARC1; p=reject; t=y'), 'dmarc', 'warn'],
  ['reports to strangers', dmarc('v=DMARC1; p=none; rua=mailto:x@reports.test'), 'dmarc', 'warn'],
  [
    'strict DKIM below the domain',
    dmarc('v=DMARC1; p=none; adkim=s'),
    'align',
    'warn',
    { examined: { subdomains: true } },
  ],
  ['strict SPF', dmarc('v=DMARC1; p=none; aspf=s'), 'align', 'warn'],
  [
    'all strict',
    dmarc('v=DMARC1; p=none; aspf=s; adkim=s'),
    'align',
    'fail',
    { examined: { subdomains: true } },
  ],
  ['neither DKIM nor SPF', withRecords({ [DKIM1]: {}, [BOUNCES]: { MX: [SERVER] } }), 'align', 'fail'],
  [
    'DKIM for the domain alone, and SPF that fails',
    withRecords({
      [`_dmarc.${D}`]: { TXT: ['v=DMARC1; p=none; adkim=s'] },
      [BOUNCES]: { MX: [SERVER] },
    }),
    'align',
    'fail',
    { examined: { subdomains: true } },
  ],
  [
    'strict SPF, and DKIM without its record',
    withRecords({ [`_dmarc.${D}`]: { TXT: ['v=DMARC1; p=none; aspf=s'] }, [DKIM1]: {} }),
    'align',
    'fail',
  ],
  [
    'a null MX',
    withRecords({ [D]: { NS: ['ns1.example.net'], MX: [[0, '']], TXT: ['v=spf1 ~all'] } }),
    'from-mx',
    'fail',
  ],
  [
    'nowhere to answer',
    withRecords({ [D]: { NS: ['ns1.example.net'], TXT: ['v=spf1 ~all'] } }),
    'from-mx',
    'fail',
  ],
  ['links to nowhere', withRecords({ [TRACK]: {} }), 'track', 'warn'],
  ['links elsewhere', withRecords({ [TRACK]: { CNAME: 'other.example' } }), 'track', 'warn'],
  [
    'links without https',
    good(),
    'track',
    'warn',
    { certificate: { kind: 'unreachable', detail: 'ECONNREFUSED' } },
  ],
  [
    'links with a wrong certificate',
    good(),
    'track',
    'warn',
    { certificate: { kind: 'invalid', detail: 'ERR_TLS_CERT_ALTNAME_INVALID' } },
  ],
  [
    'links with an old certificate',
    good(),
    'track',
    'warn',
    { certificate: { kind: 'valid', validUntil: NOW + 5 * 86_400_000 } },
  ],
  [
    'links whose certificate CAA does not allow',
    withRecords({ [D]: { ...good()[D], CAA: [[0, 'issue', 'digicert.com; account=1']] } }),
    'track',
    'warn',
    { certificate: { kind: 'valid', validUntil: NOW + 60 * 86_400_000, issuer: "Let's Encrypt" } },
  ],
  [
    'links that CAA forbids',
    withRecords({ [D]: { ...good()[D], CAA: [[0, 'issue', ';']] } }),
    'track',
    'warn',
  ],
  [
    'aliases in a circle',
    withRecords({ [TRACK]: { CNAME: `a.${D}` }, [`a.${D}`]: { CNAME: TRACK } }),
    'cname-loop',
    'fail',
  ],
];

describe('the doctor says what is wrong and what to do', () => {
  it.each(FAULTS)('%s', async (_what, zones, id, severity, setting = {}) => {
    const { result } = await examine(zones, setting);
    const check = of(result, id);
    expect(sentence(check)).toMatchSnapshot();
    expect(check.severity).toBe(severity);
    expect(check.fix).not.toBe('');
  });

  it('a wildcard that even carries our own record', async () => {
    const zones = good();
    const wild = (texts: string[]): Setting => ({
      // Every name that was never published answers with the wildcard.
      prepare: (zone) => zone.wildcard(D, { TXT: texts }),
    });
    const some = of((await examine(zones, wild(['hello']))).result, 'wildcard');
    const ours = of((await examine(zones, wild([`postrider-verify=${TOKEN}`]))).result, 'wildcard');
    expect([some, ours].map(sentence).join('\n')).toMatchSnapshot();
    expect([some.severity, ours.severity]).toEqual(['warn', 'fail']);
  });
});

describe('a return path', () => {
  it.each<[string, FakeZones[string]]>([
    ['by the MX host of the bounce domain', { MX: ['in.post.test'] }],
    ['by an alias of the bounce domain', { CNAME: SERVER }],
  ])('leads here %s', async (_how, records) => {
    const zones = {
      [SERVER]: { MX: ['in.post.test'], TXT: [`v=spf1 ip4:${SOURCE} -all`] },
      'in.post.test': { A: [SOURCE] },
      [BOUNCES]: records,
    };
    const { result } = await examine(withRecords(zones));
    expect(of(result, 'rp')).toMatchObject({ severity: 'ok', record: { expected: '10 in.post.test' } });
  });

  it('leads to the MX host of a bounce domain that has an address too', async () => {
    const zones = {
      [SERVER]: {
        A: [SOURCE],
        MX: [
          [20, 'b.post.test'],
          [10, 'a.post.test'],
        ] as [number, string][],
      },
    };
    const { result } = await examine(withRecords({ ...zones, [BOUNCES]: { MX: ['mx.other.example'] } }));
    expect(of(result, 'rp')).toMatchObject({
      severity: 'warn',
      record: { expected: '10 a.post.test' },
      fix: expect.stringMatching(/^Replace the MX records .* host that takes no other mail\.$/),
    });
  });

  it('leads here without an MX if it is the MX host of the bounce domain', async () => {
    const { result } = await examine(
      withRecords({
        [SERVER]: { MX: [BOUNCES] },
        [BOUNCES]: { A: [SOURCE], TXT: [`v=spf1 ip4:${SOURCE} -all`] },
      }),
    );
    expect(of(result, 'rp')).toMatchObject({ severity: 'ok' });
  });
});

describe('what receivers report', () => {
  const reported = (failed: number, address = SOURCE) =>
    examine(good(), {
      examined: { reported: [{ address, messages: 400, failed, found: 'dkim=fail d=shop.example s=pr1' }] },
    });

  it('is a warning where mail from this server fails, fine where little does, and nothing of others', async () => {
    const [many, few, others] = [
      await reported(120),
      await reported(5),
      await reported(120, '198.51.100.99'),
    ];
    expect(sentence(of(many.result, 'reports'))).toBe(
      `warn reports: Receivers report that 120 of 400 messages from ${SOURCE} failed DMARC in the last 7 days (dkim=fail d=shop.example s=pr1). → See who reported it: postrider domain dmarc ${D}`,
    );
    expect(of(few.result, 'reports')).toMatchObject({
      severity: 'ok',
      record: { found: [`${SOURCE}: 395 of 400 passed`] },
    });
    expect(others.result.checks.map(({ id }) => id)).not.toContain('reports');
  });

  it('counts only where somebody signed it', () => {
    const count = {
      source: SOURCE,
      messages: 3,
      dkim: false,
      spf: false,
      disposition: 'none',
      from: D,
      found: 'spf=fail',
    } as const;
    const report = {
      reporter: 'R',
      reportId: '1',
      beginAt: 0,
      endAt: 1,
      receivedAt: 1,
      counts: [count, { ...count, dkim: true }],
    };
    const signed = { ...report, signedBy: 'receiver.example' };
    expect(reportedSources([signed, signed, { ...report, signedBy: '' }])).toEqual([
      { address: SOURCE, messages: 12, failed: 6, found: 'spf=fail' },
    ]);
  });
});

describe('alignment', () => {
  it('rests on what passes: one of DKIM and SPF is enough, and it says which', async () => {
    const align = async (more: FakeZones) => of((await examine(withRecords(more))).result, 'align');
    const found = [await align({ [BOUNCES]: { MX: [SERVER] } }), await align({ [DKIM1]: {} })];
    expect(found.map(sentence).join('\n')).toMatchSnapshot();
    expect(found.map(({ severity }) => severity)).toEqual(['ok', 'ok']);
  });
});

describe('SPF that receivers accept', () => {
  it.each([
    ['a redirect beside all, which is ignored', `v=spf1 redirect=gone.example ip4:${SOURCE} ~all`],
    ['a redirect after all', `v=spf1 ip4:${SOURCE} ~all redirect=gone.example`],
    ['modifiers that nobody knows, twice', `v=spf1 ip4:${SOURCE} x=1 x=2 ~all`],
    [
      'names with a final dot, hyphens and macros',
      `v=spf1 a:${SERVER}. ip4:${SOURCE} a:%{d} a:a.xn--p1ai ~all`,
    ],
    ['a slash in a macro', `v=spf1 ip4:${SOURCE} exists:%{d1r/}.%{i}._spf.shop.example ~all`],
    [
      'the address as the 300th of many',
      `v=spf1 ${Array.from({ length: 299 }, (_, n) => `ip4:198.51.100.${n % 256}`).join(' ')} ip4:${SOURCE} -all`,
    ],
    ['an mx with 10 hosts', `v=spf1 mx:many.example ip4:${SOURCE} ~all`],
  ])('%s', async (_what, text) => {
    const hosts = Array.from({ length: 10 }, (_, i) => `mx${i}.many.example`);
    const { result } = await examine(spf(text, { 'many.example': { MX: hosts } }));
    expect(of(result, 'spf')).toMatchObject({ severity: 'ok', fix: '' });
  });
});

describe('macros of SPF', () => {
  const A = '192.0.2.10';
  const B = '2001:db8::cb01';
  const B_NIBBLES = '2.0.0.1.0.d.b.8.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.c.b.0.1';
  const both = { addresses: [A, B] };
  const spfOf = async (text: string, more: FakeZones, setting: Setting = both) =>
    of((await examine(spf(text, more), setting)).result, 'spf');

  it.each<[string, string, FakeZones]>([
    [
      'exists: for each address',
      'v=spf1 exists:%{i}._spf.%{d2} -all',
      {
        [`${A}._spf.${D}`]: { A: ['127.0.0.2'] },
        [`${B_NIBBLES}._spf.${D}`]: { A: ['127.0.0.2'] },
      },
    ],
    [
      'include: by address, domain and HELO name',
      'v=spf1 include:%{ir}.%{v}.%{o}.%{h}.spf.example -all',
      {
        [`10.2.0.192.in-addr.${BOUNCES}.${SERVER}.spf.example`]: { TXT: [`v=spf1 ip4:${A} -all`] },
        [`${[...B_NIBBLES].reverse().join('')}.ip6.${BOUNCES}.${SERVER}.spf.example`]: {
          TXT: ['v=spf1 exists:%{d} -all'],
          A: ['127.0.0.2'],
        },
      },
    ],
    [
      'redirect= by the domain of the sender, without its local part',
      'v=spf1 redirect=%{s2}._spf.example',
      {
        [`${D}._spf.example`]: { TXT: [`v=spf1 a:%{O2}._a.example -all`] },
        [`${D}._a.example`]: { A: [A], AAAA: [B] },
      },
    ],
  ])('%s', async (_what, text, more) => {
    expect(await spfOf(text, more)).toMatchObject({ severity: 'ok', fix: '' });
  });

  it('are expanded for each address on its own', async () => {
    const check = await spfOf('v=spf1 exists:%{i}._spf.example -all', {
      [`${A}._spf.example`]: { A: ['127.0.0.2'] },
    });
    expect(check).toMatchObject({
      severity: 'fail',
      message: expect.stringContaining(`does not cover ${B},`),
    });
    expect(check.message).not.toContain(A);
  });

  it('that a receiver does not reach with our mail cost no empty look-up and are no error', async () => {
    const more = ['a', 'b', 'c'].map((name) => `exists:%{i}.${name}.example`).join(' ');
    const check = await spfOf(`v=spf1 ip4:${A} ${more} include:%{i}.d.example -all`, {}, {});
    expect(check).toMatchObject({
      severity: 'ok',
      message: expect.stringContaining('costs 4 of 10 look-ups'),
    });
  });

  it('keep the right part of a name that is too long', async () => {
    const long = Array.from({ length: 8 }, () => '%{ir}').join('.');
    const { zone } = await examine(spf(`v=spf1 exists:${long}.spf.example -all`), { addresses: [B] });
    const asked = zone.queries.map(({ name }) => name).filter((name) => name.endsWith('.spf.example'));
    expect(asked).toHaveLength(1);
    expect(asked[0]?.length).toBeLessThanOrEqual(253);
    expect(asked[0]?.length).toBeGreaterThan(250);
  });
});

describe('a missing DMARC record', () => {
  it('is advised with the address for reports, as in the list of records', async () => {
    const examined = { reportsTo: `dmarc@${BOUNCES}` };
    const { result } = await examine(withRecords({ [`_dmarc.${D}`]: {} }), { examined });
    const { record, fix } = of(result, 'dmarc');
    expect(record.expected).toBe(`v=DMARC1; p=none; rua=mailto:dmarc@${BOUNCES}`);
    expect(fix).toBe(`Publish a TXT record at _dmarc.${D}: ${record.expected}`);
  });
});

describe('a DMARC record of somebody who reads the reports elsewhere', () => {
  it.each([
    ['', true],
    ['; rua=mailto:me@shop.example', true],
    [`; rua=mailto:me@shop.example,mailto:DMARC@${BOUNCES}!10m`, false],
  ])('with "%s" names the address of this server: %s', async (rua, isNamed) => {
    const records = { [`_dmarc.${D}`]: { TXT: [`v=DMARC1; p=reject${rua}`] } };
    const examined = { reportsTo: `dmarc@${BOUNCES}` };
    const { result } = await examine(withRecords(records), { examined });
    const told = ` Reports do not come to this server; to see them here, add mailto:dmarc@${BOUNCES} to its rua.`;
    const { severity, message } = of(result, 'dmarc');
    expect(severity).toBe('ok');
    expect(message).toBe(`The DMARC record is in place (p=reject).${isNamed ? told : ''}`);
  });
});

describe('DMARC of the organisation', () => {
  const below = { examined: { domain: 'news.shop.example', returnPathHost: null, tracking: null } };
  it('is found by climbing, and reports may go anywhere inside it', async () => {
    const { result, zone } = await examine(good(), below);
    expect(of(result, 'dmarc').message).toBe(
      'The DMARC record is in place (p=none, inherited from shop.example).',
    );
    expect(zone.count('_dmarc.example', 'TXT')).toBeGreaterThan(0);
  });

  it('applies sp= to a sub-domain, where it has one', async () => {
    const policies = { [`_dmarc.${D}`]: { TXT: ['v=DMARC1; p=none; sp=Reject'] } };
    const { result } = await examine(withRecords(policies), below);
    expect(of(result, 'dmarc').message).toContain('(sp=reject, inherited from shop.example)');
    const own = await examine(withRecords(policies));
    expect(of(own.result, 'dmarc').message).toContain('(p=none)');
  });

  it('ends at psd=n, and one label below psd=y', async () => {
    const own = await examine(
      withRecords({
        '_dmarc.shop.example': { TXT: ['v=DMARC1; p=reject; psd=n'] },
        '_dmarc.example': { TXT: ['v=DMARC1; p=none'] },
      }),
      below,
    );
    expect(of(own.result, 'dmarc').message).toContain('p=reject, inherited from shop.example');
    const suffix = await examine(
      withRecords({
        '_dmarc.shop.example': { TXT: ['v=DMARC1; p=quarantine'] },
        '_dmarc.example': { TXT: ['v=DMARC1; p=reject; psd=y'] },
      }),
      below,
    );
    expect(of(suffix.result, 'dmarc').message).toContain('p=quarantine, inherited from shop.example');
  });

  it('asks at most eight names however long the domain is', async () => {
    const domain = `${'a.'.repeat(30)}shop.example`;
    const { result, zone } = await examine(good(), { examined: { ...below.examined, domain } });
    expect(of(result, 'dmarc').message).toContain('inherited from shop.example');
    const names = new Set(
      zone.queries
        .filter(({ name, type }) => type === 'TXT' && /^_dmarc\..*example$/.test(name))
        .map(({ name }) => name),
    );
    expect(names.size).toBeLessThanOrEqual(8);
  });

  it('takes the word of a receiver of reports', async () => {
    const { result } = await examine({
      ...dmarc('v=DMARC1; p=none; rua=mailto:x@reports.test'),
      [`${D}._report._dmarc.reports.test`]: { TXT: ['v=DMARC1'] },
    });
    expect(of(result, 'dmarc').severity).toBe('ok');
  });
});

describe('the zone and what others see', () => {
  it('tells both, and believes the zone', async () => {
    const { result } = await examine(good(), {
      others: { ...good(), [`_dmarc.${D}`]: { TXT: ['v=DMARC1; p=reject'] }, [DKIM1]: {} },
    });
    expect(result.verified).toBe(true);
    expect(sentence(of(result, 'dmarc'))).toMatchSnapshot();
    expect(of(result, 'dkim1').message).toContain('others still see no record there for up to 60 s');
  });

  it('passes over name servers that are lame or silent, and asks the resolver where all are', async () => {
    const { result, zone } = await examine(
      withRecords({ 'ns1.example.net': { A: ['127.0.0.9'] }, 'ns2.example.net': { A: ['127.0.0.1'] } }),
    );
    expect(result.verified).toBe(true);
    expect(result.checks.every(({ severity }) => severity === 'ok')).toBe(true);
    expect(zone.count(OWN, 'TXT')).toBe(2);
    const all = await examine(good(), {
      others: good(),
      prepare: (servers) => servers.fault('*', { kind: 'lame', referral: true }),
    });
    expect(all.result.checks.every(({ severity }) => severity === 'ok')).toBe(true);
    expect(all.others.count(OWN, 'TXT')).toBe(1);
  });

  it('says of a wrong record that only a resolver told for how long that may be an old one', async () => {
    const lame = (servers: FakeDns) => servers.fault('*', { kind: 'lame', referral: true });
    const others = {
      ...good(),
      [DKIM1]: {},
      [DKIM2]: { TXT: ['v=DKIM1; p='] },
      [`_dmarc.${D}`]: { negativeTtl: null },
    };
    const { result } = await examine(good(), { others, prepare: lame });
    const told = ['dkim1', 'dkim2', 'dmarc'].map((id) => of(result, id).message);
    expect(told).toEqual([
      expect.stringMatching(
        /This answer came from a resolver, which may remember the missing record for up to 60 s \(SOA minimum\)\.$/,
      ),
      expect.stringMatching(/may remember an earlier record for up to 300 s \(TTL\)\.$/),
      expect.stringMatching(/may remember the missing record for a while\.$/),
    ]);
    expect(of(result, 'spf').message).not.toContain('remember');
    const zones = await examine({ ...good(), [DKIM1]: {} });
    expect(of(zones.result, 'dkim1').message).not.toContain('remember');
  });

  it('asks no name server at an address that is not public', async () => {
    const { result, others } = await examine(good(), {
      others: withRecords({
        'ns1.example.net': { A: ['10.0.0.1'] },
        'ns2.example.net': { A: ['169.254.169.254'] },
      }),
      prepare: (zone) => zone.fault('*', { kind: 'drop' }),
    });
    expect(result.verified).toBe(true);
    expect(others.count(OWN, 'TXT')).toBe(1);
  });

  it('concludes nothing from silence', async () => {
    const { result } = await examine(good(), {
      prepare: (zone) => zone.fault('*', { kind: 'drop' }),
      silent: true,
      limits: { forMs: 1_000 },
    });
    expect([result.verified, result.temporary]).toEqual([false, true]);
    expect(result.checks.filter(({ severity }) => severity === 'fail')).toEqual([]);
  });

  it('asks no more than its bound, whatever a zone leads to', async () => {
    const { result, zone } = await examine(spf('v=spf1 include:s0.example ~all', chain(40)), {
      limits: { maxQuestions: 30 },
    });
    expect(zone.queries.length).toBeLessThan(80);
    expect(result.checks.length).toBeGreaterThan(5);
  });
});
