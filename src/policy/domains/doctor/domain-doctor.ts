/**
 * The doctor of sender domains: at most one examination per domain at a time, limited in number and time. Returns a
 * verdict and checks; stores nothing.
 */
import type { Clock } from '../../../lib/clock.ts';
import type { Random } from '../../../lib/random.ts';
import { createSharedWork } from '../../../lib/shared-work.ts';
import type { CertificateFacts } from '../../../net/certificate-probe.ts';
import type { ZoneServers } from '../../../net/zone-servers.ts';
import { spfText } from '../relay-spf.ts';
import type { DomainVerification } from '../verify.ts';
import { type ExaminedDomain, examineDomain } from './examine.ts';
import type { SendingAddress } from './instance-facts.ts';
import { createLookups, type DoctorResolver, type LookupLimits } from './lookups.ts';
import type { SpfRelay } from './spf-check.ts';

export interface DomainDoctor {
  /** `fresh`: uses no answer that was asked for before. Never rejects because of a DNS answer. */
  examine(examined: ExaminedDomain, options?: { fresh: boolean }): Promise<DomainVerification>;
}

export interface DomainDoctorDeps {
  resolver: DoctorResolver;
  clock: Clock;
  random: Random;
  /** Servers of zones, new for each run; absent: only the resolver is asked. */
  zoneServers?: (fresh: boolean) => ZoneServers;
  /** Checks a host's certificate; absent: certificates are not checked. */
  certificate?: (host: string, fresh: boolean) => Promise<CertificateFacts | null>;
  /** What mail leaves from, if known; absent: unknown. */
  addresses?: () => Promise<readonly SendingAddress[]>;
  /** Relays in use, with the name that SPF includes for each, null if unknown; absent: none. */
  relays?: readonly SpfRelay[];
}

export function createDomainDoctor(deps: DomainDoctorDeps, limits: LookupLimits = {}): DomainDoctor {
  const { clock, random, zoneServers, certificate, addresses, relays = [] } = deps;
  /** By everything that the result depends on, because keys and settings may change during an examination. */
  const underWay = createSharedWork<DomainVerification>();
  return {
    examine: (examined, { fresh } = { fresh: false }) =>
      underWay.of(JSON.stringify([fresh, examined]), () => examineNow(examined, fresh)),
  };

  async function examineNow(examined: ExaminedDomain, fresh: boolean): Promise<DomainVerification> {
    const { domain } = examined;
    const asking = fresh ? deps.resolver.fresh?.(domain) : deps.resolver.of?.(domain);
    const resolver = asking ?? deps.resolver;
    const zone = zoneServers?.(fresh) ?? null;
    try {
      return await examineDomain(createLookups({ resolver, zone, clock }, limits), examined, {
        addresses: (await addresses?.()) ?? [],
        spf: spfText(
          examined.bounceDomain,
          relays.flatMap(({ include }) => include ?? []),
        ),
        relays,
        unusedLabel: `pr-${Buffer.from(random.bytes(8)).toString('hex')}`,
        now: clock.now(),
        certificate: certificate && ((host) => certificate(host, fresh)),
      });
    } finally {
      zone?.close();
    }
  }
}
