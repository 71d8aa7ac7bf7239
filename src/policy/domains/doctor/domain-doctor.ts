/**
 * The doctor of sender domains: one bounded examination at a time for each domain, whoever asks. Given a resolver and
 * what this server is called, leaves a verdict and checks; nothing is stored here.
 */
import type { Clock } from '../../../lib/clock.ts';
import type { Random } from '../../../lib/random.ts';
import type { CertificateFacts } from '../../../net/certificate-probe.ts';
import type { ZoneServers } from '../../../net/zone-servers.ts';
import { spfText } from '../relay-spf.ts';
import type { DomainVerification } from '../verify.ts';
import { type ExaminedDomain, examineDomain } from './examine.ts';
import { createLookups, type DoctorResolver, type LookupLimits } from './lookups.ts';
import type { SpfRelay } from './spf.ts';

export interface DomainDoctor {
  /** Never rejects because of what DNS answers. */
  examine(examined: ExaminedDomain): Promise<DomainVerification>;
}

export interface DomainDoctorDeps {
  resolver: DoctorResolver;
  clock: Clock;
  random: Random;
  /** Servers of zones, fresh for each run; left out: only the resolver is asked. */
  zoneServers?: () => ZoneServers;
  /** Looks at a host's certificate; left out: certificates are not looked at. */
  certificate?: (host: string) => Promise<CertificateFacts | null>;
  /** Addresses that mail leaves from, as far as they are known; left out: not known. */
  addresses?: () => Promise<readonly string[]>;
  /** Relays that mail leaves by, with the name that SPF includes for each, null where that is not known; left out: none. */
  relays?: readonly SpfRelay[];
}

export function createDomainDoctor(deps: DomainDoctorDeps, limits: LookupLimits = {}): DomainDoctor {
  const { resolver, clock, random, zoneServers, certificate, addresses, relays = [] } = deps;
  /** By everything that the result depends on: keys and settings may change while one is under way. */
  const underWay = new Map<string, Promise<DomainVerification>>();
  return {
    examine(examined) {
      const key = JSON.stringify(examined);
      const known = underWay.get(key);
      if (known !== undefined) return known;
      const run = examineNow(examined).finally(() => underWay.delete(key));
      underWay.set(key, run);
      return run;
    },
  };

  async function examineNow(examined: ExaminedDomain): Promise<DomainVerification> {
    const zone = zoneServers?.() ?? null;
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
        certificate,
      });
    } finally {
      zone?.close();
    }
  }
}
