/**
 * The TLS requirement for one MX host: the first rule that applies decides.
 *
 *   1 the sender's domain requires it     → verified, by DANE if the host has it, otherwise by its certificate
 *   2 DANE (RFC 7672)                     → a certificate that TLSA records name; without a usable record any
 * certificate
 *   3 MTA-STS (RFC 8461), `enforce`       → a host that the policy names, with a valid certificate
 *   4 the receiver is known to require it → any certificate
 *   5 nothing                             → TLS if offered, never a reason not to deliver
 *
 * Takes the DNS answers about domain and host, and the domain's MTA-STS policy. Returns a plan, or why this host must
 * not be used now: if DNSSEC is used, a failed look-up never lowers the requirement.
 */

import type { TlsaRecord } from '../../../net/dns-types.ts';
import { isNamedByPolicy, type MtaStsPolicy } from '../../../net/mta-sts.ts';
import type { FullResolver } from '../../../net/resolver.ts';
import type { TlsMode } from '../../../smtp/client-tls.ts';
import { type DaneRequest, usableTlsa } from '../../../smtp/dane.ts';
import type { TlsPolicyType, TlsResult } from './counters.ts';

/** The requirement that decided. `relay`: the operator's setting for a relay. */
type TlsBasis = 'relay' | 'sender' | 'dane' | 'mta-sts' | 'provider' | 'opportunistic';

export interface TlsPlan {
  basis: TlsBasis;
  mode: TlsMode;
  /** For the mode `dane`. */
  dane: DaneRequest | null;
  /**
   * Connections made with this plan carry only mail of this domain, because another domain of the same site may require
   * more. null: any domain without a requirement.
   */
  onlyFor: string | null;
  /** How its sessions are counted (RFC 8460 §4.3); null if they are not (relays). */
  counted: TlsPolicyType | null;
  /**
   * MTA-STS in testing mode: the result that `enforce` would have had for this host is counted, and changes nothing.
   */
  testing: { isNamed: boolean } | null;
}

type TlsPlanAnswer =
  | { kind: 'plan'; plan: TlsPlan }
  | { kind: 'unusable'; detail: string; policy: TlsPolicyType; result: TlsResult };

export interface TlsQuestion {
  recipientDomain: string;
  /** The MX answer (or the proof that there is none) was validated, which DANE requires. */
  mxSecure: boolean;
  /** `secure`: its address answers were validated. `alias`: the name that has the addresses, where this one is its alias. */
  host: { name: string; secure: boolean; alias?: string };
  port: number;
  /** The sender's domain requires verified TLS. */
  requireTls: boolean;
  /** The receiver is known to require this in addition. */
  providerRequires: boolean;
  /** Of the recipient domain; null if it has none. */
  policy: MtaStsPolicy | null;
}

/** The plan for one host. Never rejects. */
export async function planTls(resolver: DaneResolver, asked: TlsQuestion): Promise<TlsPlanAnswer> {
  const { recipientDomain, host, policy } = asked;
  const dane = asked.mxSecure ? await lookUpDane(resolver, host, asked.port) : 'none';
  if (typeof dane === 'object' && dane.kind === 'failure') {
    const detail = `TLSA records of ${host.name} cannot be looked up, so its certificate cannot be checked (DANE): ${dane.detail}`;
    return { kind: 'unusable', detail, policy: 'tlsa', result: 'dnssec-invalid' };
  }
  const common = { onlyFor: recipientDomain, dane: null, testing: null };
  if (typeof dane === 'object') {
    const request: DaneRequest = { records: dane.records, names: [dane.base, recipientDomain] };
    const basis = asked.requireTls ? 'sender' : 'dane';
    return plan({
      ...common,
      basis,
      mode: 'dane',
      dane: request,
      counted: 'tlsa',
    });
  }
  const isNamed = policy !== null && isNamedByPolicy(policy, host.name);
  if (policy?.mode === 'enforce') {
    if (!isNamed) {
      const detail = `${host.name} is not a mail server by the MTA-STS policy of ${recipientDomain} (${policy.mx.join(', ')})`;
      return { kind: 'unusable', detail, policy: 'sts', result: 'validation-failure' };
    }
    return plan({
      ...common,
      basis: asked.requireTls ? 'sender' : 'mta-sts',
      mode: 'verified',
      counted: 'sts',
    });
  }
  if (asked.requireTls)
    return plan({ ...common, basis: 'sender', mode: 'verified', counted: 'no-policy-found' });
  if (dane === 'unusable') {
    return plan({
      ...common,
      basis: 'dane',
      mode: 'required',
      counted: 'tlsa',
    });
  }
  const testing = policy?.mode === 'testing' ? { isNamed } : null;
  const counted = testing === null ? 'no-policy-found' : 'sts';
  if (asked.providerRequires) {
    return plan({ ...common, basis: 'provider', mode: 'required', onlyFor: null, counted, testing });
  }
  return plan({ ...common, basis: 'opportunistic', mode: 'opportunistic', onlyFor: null, counted, testing });
}

/** Who requires TLS with a host, for people who examine a failure; '' if nobody does. */
export function askedBy({ basis, mode, dane }: TlsPlan, host: string, recipientDomain: string): string {
  switch (basis) {
    case 'sender':
      return 'the sender domain requires verified TLS (RequireTls)';
    case 'mta-sts':
      return `the MTA-STS policy of ${recipientDomain} requires a valid certificate`;
    case 'dane':
      return mode === 'dane'
        ? `TLSA records of ${dane?.names[0] ?? host} (DANE) say which certificate it must have`
        : `TLSA records of ${host} (DANE) require TLS`;
    case 'provider':
      return 'this receiver gets mail under TLS only, because it refused mail in the clear or shaping data say so (tls)';
    case 'relay':
      return mode === 'verified'
        ? 'a password goes to a relay under verified TLS only'
        : mode === 'required'
          ? 'the route asks for TLS (smtps)'
          : '';
    case 'opportunistic':
      return '';
  }
}

/** The plan for a relay: the operator configured it, so nothing is looked up. */
export function relayTlsPlan(mode: TlsMode, basis: 'relay' | 'sender' = 'relay'): TlsPlan {
  return { basis, mode, dane: null, onlyFor: null, counted: null, testing: null };
}

/** Whether a connection with this plan is known to be with the right server. */
function isVerifying({ mode }: TlsPlan): boolean {
  return mode === 'verified' || mode === 'dane';
}

/**
 * Whether mail may be sent on a connection that was opened for another message, maybe for another domain of the site.
 * `asksForTls`: its recipient domain may have its own policy (`Endpoints.asksForTls`), so that only a connection opened
 * for that domain is known to meet it. `takes`: whether a host is one of that domain (`Sites.takes`): another one must not
 * see its mail, whatever the site is called.
 */
export function mayCarry(
  link: { tls: TlsPlan; route: 'mx' | 'relay'; host: string; recipientDomain: string },
  mail: { recipientDomain: string; requireTls: boolean; asksForTls: boolean },
  takes: (recipientDomain: string, host: string) => boolean | null,
): boolean {
  if (mail.requireTls && !isVerifying(link.tls)) return false;
  if (link.route === 'relay' || link.recipientDomain === mail.recipientDomain) return true;
  return link.tls.onlyFor === null && !mail.asksForTls && takes(mail.recipientDomain, link.host) === true;
}

type Dane =
  | 'none'
  | 'unusable'
  | { kind: 'usable'; base: string; records: readonly TlsaRecord[] }
  | { kind: 'failure'; detail: string };

type DaneResolver = Pick<FullResolver, 'tlsa' | 'cname'>;

async function lookUpDane(resolver: DaneResolver, host: TlsQuestion['host'], port: number): Promise<Dane> {
  const bases = await tlsaBases(resolver, host);
  if ('detail' in bases) return bases;
  for (const base of bases) {
    const answer = await resolver.tlsa(`_${port}._tcp.${base}`);
    if (answer.kind === 'failure') return answer;
    // Not validated: the record could be forged, so the host counts as one without DANE (RFC 7672 §2.1.2).
    if (answer.kind !== 'found' || !answer.secure) continue;
    const records = usableTlsa(answer.records);
    return records.length === 0 ? 'unusable' : { kind: 'usable', base, records };
  }
  return 'none';
}

/** The names that may have the TLSA records, in the order of asking (RFC 7672 §2.2.2). */
async function tlsaBases(
  resolver: DaneResolver,
  { name, alias, secure }: TlsQuestion['host'],
): Promise<readonly string[] | { kind: 'failure'; detail: string }> {
  if (alias === undefined) return secure ? [name] : [];
  if (secure) return [alias, name];
  // An alias that is signed and leads to a zone that is not.
  const answer = await resolver.cname(name);
  if (answer.kind === 'failure') return answer;
  return answer.kind === 'found' && answer.secure ? [name] : [];
}

function plan(made: TlsPlan): TlsPlanAnswer {
  return { kind: 'plan', plan: made };
}
