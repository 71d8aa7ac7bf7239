/**
 * What the DNS records of a sender domain are made from, and the records. Knows which host took the mail of the bounce
 * domain when that was looked up last: the record of a domain's own host for return paths names it.
 */
import { isAtOrBelow } from '../../mail/address-text.ts';
import type { Domain, DomainSettingsPatch } from '../../model/domain.ts';
import type { Resolver } from '../../net/dns-types.ts';
import { type DnsRecord, domainRecords } from './dns-records.ts';
import type { DomainCheck } from './doctor/check.ts';
import { returnServers } from './doctor/return-servers.ts';
import { checksOf } from './domain-status.ts';

/** The options mean what they mean in `DomainOptions`. */
export function createDomainZones(
  resolver: Resolver,
  options: {
    bounceDomain: string;
    trackingTarget?: string;
    takesReports?: boolean;
    spfIncludes?: readonly string[];
  },
) {
  /** null = not looked up since the start. */
  let returnServer: string | null = null;
  return { of, records, learnReturnServer };

  function records(domain: Domain): readonly DnsRecord[] {
    return domainRecords({
      ...of(domain),
      returnServer: returnServer ?? returnServerOf(checksOf(domain) ?? []) ?? options.bounceDomain,
      vouched: domain.verifiedBy === 'operator',
      spfIncludes: options.spfIncludes ?? [],
    });
  }

  /** The answer to a change that sets a host for return paths shows its record, before any check looked at it. */
  async function learnReturnServer({ returnPathHost = null }: DomainSettingsPatch = {}): Promise<void> {
    if (returnPathHost === null || returnPathHost === options.bounceDomain) return;
    const [server] = (await returnServers(resolver, options.bounceDomain)) ?? [];
    returnServer = server ?? returnServer;
  }

  /** The values that the records of a domain are made from. */
  function of(domain: Domain) {
    const returnHost = domain.settings.returnPathHost ?? options.bounceDomain;
    // Of another organisation's domain, receivers of mail would first ask whether it takes such reports.
    const takesReports = options.takesReports === true && isAtOrBelow(returnHost, domain.name);
    return {
      domain: domain.name,
      verifyToken: domain.verifyToken,
      keys: domain.keys,
      bounceDomain: options.bounceDomain,
      returnPathHost: domain.settings.returnPathHost,
      tracking: trackingOf(domain),
      reportsTo: takesReports ? `dmarc@${returnHost}` : null,
    };
  }

  function trackingOf({ settings }: Domain): { host: string; target: string } | null {
    const { trackingHost } = settings;
    const target = options.trackingTarget ?? options.bounceDomain;
    return trackingHost === null ? null : { host: trackingHost, target };
  }
}

/** As the check of a return path found it; null if there was none. */
function returnServerOf(checks: readonly DomainCheck[]): string | null {
  const expected = checks.find(({ id }) => id === 'rp')?.record.expected ?? '';
  return /^\d+ (\S+)$/.exec(expected)?.[1] ?? null;
}
