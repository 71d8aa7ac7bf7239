/** The steps of a TLS plan in their order, and which mail may share a connection. */
import { describe, expect, it } from 'vitest';
import type { DnsAnswer, TlsaRecord } from '../../../net/dns-types.ts';
import type { MtaStsPolicy } from '../../../net/mta-sts.ts';
import { mayCarry, planTls, relayTlsPlan, type TlsPlan, type TlsQuestion } from './plan.ts';

const record = (usage: number): TlsaRecord => ({ usage, selector: 1, matching: 1, data: new Uint8Array(32) });
const found = (usage: number, secure = true): DnsAnswer<TlsaRecord> => ({
  kind: 'found',
  records: [record(usage)],
  ttlSeconds: 300,
  secure,
});
const NO_DATA: Extract<DnsAnswer<never>, { kind: 'no-data' }> = {
  kind: 'no-data',
  ttlSeconds: 300,
  secure: true,
};
const BOGUS: Extract<DnsAnswer<never>, { kind: 'failure' }> = {
  kind: 'failure',
  reason: 'servfail',
  detail: 'SERVFAIL',
};
const policy = (mode: MtaStsPolicy['mode'], mx = 'mx.example.net'): MtaStsPolicy => ({
  mode,
  mx: [mx],
  maxAgeSeconds: 1,
});

const QUESTION: TlsQuestion = {
  recipientDomain: 'example.net',
  mxSecure: true,
  host: { name: 'mx.example.net', secure: true },
  port: 25,
  requireTls: false,
  providerRequires: false,
  policy: null,
};

/** `without`: names that have no TLSA records; `alias`: what is said of the host as an alias. */
async function plan(
  tlsa: DnsAnswer<TlsaRecord>,
  over: Partial<TlsQuestion> = {},
  { without = [], alias = BOGUS }: { without?: readonly string[]; alias?: DnsAnswer<string> } = {},
) {
  const asked: string[] = [];
  const resolver = {
    tlsa: async (name: string) => {
      asked.push(name);
      return without.includes(name) ? NO_DATA : tlsa;
    },
    cname: async () => alias,
  };
  const answer = await planTls(resolver, { ...QUESTION, ...over });
  return {
    asked,
    ...(answer.kind === 'plan'
      ? { basis: answer.plan.basis, mode: answer.plan.mode, plan: answer.plan }
      : answer),
  };
}

async function made(...asked: Parameters<typeof plan>): Promise<TlsPlan> {
  const answer = await plan(...asked);
  if (!('plan' in answer)) throw new Error(answer.detail);
  return answer.plan;
}

describe('the ladder', () => {
  const enforce = { policy: policy('enforce') };
  it.each<[string, DnsAnswer<TlsaRecord>, Partial<TlsQuestion>, string, string]>([
    [
      'the sender’s wish is met by DANE where there is DANE',
      found(3),
      { requireTls: true, ...enforce },
      'sender',
      'dane',
    ],
    ['and by the certificate where there is none', NO_DATA, { requireTls: true }, 'sender', 'verified'],
    ['also where TLSA cannot be used', found(1), { requireTls: true }, 'sender', 'verified'],
    ['DANE goes before MTA-STS', found(2), enforce, 'dane', 'dane'],
    ['records that cannot be used ask for TLS', found(0), {}, 'dane', 'required'],
    ['but not for less than MTA-STS does', found(0), enforce, 'mta-sts', 'verified'],
    ['MTA-STS', NO_DATA, enforce, 'mta-sts', 'verified'],
    [
      'the provider’s data',
      NO_DATA,
      { providerRequires: true, policy: policy('testing') },
      'provider',
      'required',
    ],
    [
      'testing asks for nothing',
      NO_DATA,
      { policy: policy('testing', 'other.example') },
      'opportunistic',
      'opportunistic',
    ],
    ['nothing', NO_DATA, {}, 'opportunistic', 'opportunistic'],
    ['records that nobody validated', found(3, false), {}, 'opportunistic', 'opportunistic'],
  ])('%s', async (_, tlsa, over, basis, mode) => {
    expect(await plan(tlsa, over)).toMatchObject({ basis, mode, asked: ['_25._tcp.mx.example.net'] });
  });

  it('asks for TLSA only where both MX and addresses were validated', async () => {
    for (const over of [{ mxSecure: false }, { host: { name: 'mx.example.net', secure: false } }]) {
      expect(await plan(BOGUS, over)).toMatchObject({ basis: 'opportunistic', asked: [] });
    }
  });

  describe('of a host that is an alias', () => {
    const host = { name: 'mx.example.net', alias: 'mail.example.org', secure: true };
    const [first, second] = ['_25._tcp.mail.example.org', '_25._tcp.mx.example.net'] as const;

    it('takes the TLSA records of the name that it leads to', async () => {
      expect(await aliased(found(3), {})).toMatchObject({
        ...{ asked: [first], mode: 'dane' },
        plan: { dane: { names: ['mail.example.org', 'example.net'] } },
      });
      expect(await aliased(found(0), {})).toMatchObject({ asked: [first], mode: 'required' });
    });

    it('takes its own where that name has none', async () => {
      expect(await aliased(found(3), {}, { without: [first] })).toMatchObject({
        asked: [first, second],
        plan: { dane: { names: ['mx.example.net', 'example.net'] } },
      });
      expect(await aliased(NO_DATA, {})).toMatchObject({ asked: [first, second], mode: 'opportunistic' });
    });

    it('takes its own where the alias was validated and what it leads to was not', async () => {
      const to = (secure: boolean): DnsAnswer<string> => ({
        ...{ kind: 'found', records: ['mail.example.org'], ttlSeconds: 300 },
        secure,
      });
      expect(await aliased(found(3), { secure: false }, { alias: to(true) })).toMatchObject({
        ...{ asked: [second], mode: 'dane' },
        plan: { dane: { names: ['mx.example.net', 'example.net'] } },
      });
      const unsigned = await aliased(found(3), { secure: false }, { alias: to(false) });
      expect(unsigned).toMatchObject({ asked: [], mode: 'opportunistic' });
      expect(await aliased(found(3), { secure: false })).toMatchObject({ kind: 'unusable' });
    });

    function aliased(tlsa: DnsAnswer<TlsaRecord>, over: object, more: Parameters<typeof plan>[2] = {}) {
      return plan(tlsa, { host: { ...host, ...over } }, more);
    }
  });

  it('uses no host whose TLSA records cannot be looked up, whoever asks for what', async () => {
    for (const over of [{}, { requireTls: true }, enforce]) {
      expect(await plan(BOGUS, over)).toMatchObject({ kind: 'unusable', result: 'dnssec-invalid' });
    }
  });

  it('uses no host that an enforced policy does not name, but by DANE', async () => {
    const other = { policy: policy('enforce', 'mail.example.net') };
    expect(await plan(NO_DATA, other)).toMatchObject({ kind: 'unusable', policy: 'sts' });
    expect(await plan(found(3), other)).toMatchObject({ mode: 'dane' });
  });
});

describe('a connection', () => {
  const link = (tls: TlsPlan, recipientDomain = 'a.example', route: 'mx' | 'relay' = 'mx') => ({
    ...{ tls, recipientDomain, route },
    host: 'mx.a.example',
  });
  const mail = (recipientDomain: string, over = {}) => ({
    recipientDomain,
    requireTls: false,
    asksForTls: false,
    ...over,
  });

  /** `b.example` has the same host, `c.example` has not, and nothing is known of `d.example`. */
  const hosts: Readonly<Record<string, boolean>> = { 'b.example': true, 'c.example': false };
  const carries = (...[one, other]: [ReturnType<typeof link>, ReturnType<typeof mail>]) =>
    mayCarry(one, other, (domain) => hosts[domain] ?? null);

  it('carries no mail of another domain unless its host is known to be one of that domain', async () => {
    const open = await made(NO_DATA);
    for (const domain of ['c.example', 'd.example']) expect(carries(link(open), mail(domain))).toBe(false);
  });

  it('that was opened without a policy carries mail of domains without one', async () => {
    const open = await made(NO_DATA);
    expect(carries(link(open), mail('b.example'))).toBe(true);
    expect(carries(link(open), mail('b.example', { asksForTls: true }))).toBe(false);
    expect(carries(link(open), mail('a.example', { asksForTls: true }))).toBe(true);
    expect(carries(link(open), mail('a.example', { requireTls: true }))).toBe(false);
  });

  it('that was opened under a policy carries that domain’s mail only', async () => {
    const strict = await made(NO_DATA, { policy: policy('enforce'), recipientDomain: 'a.example' });
    expect(carries(link(strict), mail('a.example', { asksForTls: true, requireTls: true }))).toBe(true);
    expect(carries(link(strict), mail('b.example'))).toBe(false);
  });

  it('to a relay carries everything, but for verified TLS where it has none', () => {
    expect(carries(link(relayTlsPlan('opportunistic'), 'a.example', 'relay'), mail('b.example'))).toBe(true);
    expect(
      carries(link(relayTlsPlan('required'), 'a.example', 'relay'), mail('b.example', { requireTls: true })),
    ).toBe(false);
    expect(
      carries(link(relayTlsPlan('verified'), 'a.example', 'relay'), mail('b.example', { requireTls: true })),
    ).toBe(true);
  });
});
