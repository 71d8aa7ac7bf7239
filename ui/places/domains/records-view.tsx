/** The records to publish, as the DNS host wants them, each with what was found; the other checks; the zone file; what changed. */
import { useState } from 'react';
import type { DnsRecord, Domain, DomainCheck } from '../../../src/client/api-types.ts';
import { Section } from '../../components/page.tsx';
import { Sentence } from '../../components/sentence.tsx';
import { Status } from '../../components/status.tsx';
import { Instant } from '../../components/time.tsx';
import { CheckItem } from './check-item.tsx';
import { DnsHostChoice } from './dns-host-choice.tsx';
import { DNS_HOSTS, type DnsHost, zonesOf } from './dns-hosts.ts';
import { byStatus, checkName, checkOf } from './domain-status.ts';
import { RecordTable } from './record-table.tsx';
import { ZoneFile } from './zone-file.tsx';

/** A record, and what was found of it; null before the first check. */
export interface ShownRecord {
  record: DnsRecord;
  check: DomainCheck | null;
}

export function RecordsView({ domain }: { domain: Domain }) {
  const zones = zonesOf(domain.Domain);
  const [host, setHost] = useState<DnsHost>(DNS_HOSTS[0]);
  const [zone, setZone] = useState(domain.Domain);
  const records = domain.DnsRecords.map(
    (record): ShownRecord => ({ record, check: checkOf(domain, record) }),
  );
  const own = new Set(records.map(({ check }) => check));
  const others = domain.Checks.filter((check) => !own.has(check)).sort(byStatus);
  return (
    <>
      <Section
        title="Records to publish"
        aside={`${records.filter(({ record }) => record.Required).length} required`}
      >
        <DnsHostChoice host={host} onHost={setHost} zone={zone} zones={zones} onZone={setZone} />
        <RecordTable records={records} host={host} zone={zone} />
        <ZoneFile domain={domain} />
      </Section>
      {others.length > 0 && (
        <Section title="Other checks">
          <ul aria-label="Other checks" className="grid border-line border-t">
            {others.map((check) => (
              <CheckItem key={`${check.Name} ${check.Host}`} check={check} />
            ))}
          </ul>
        </Section>
      )}
      {domain.Changes.length > 0 && <Changes changes={domain.Changes} />}
    </>
  );
}

function Changes({ changes }: { changes: Domain['Changes'] }) {
  return (
    <Section title="What changed lately">
      <ul aria-label="What changed lately" className="grid border-line border-t">
        {changes.map(({ Name, To, Message, At }) => (
          <li
            key={`${Name} ${At}`}
            className="flex flex-wrap items-baseline gap-x-3 border-line border-b py-1.5"
          >
            <Instant at={At} className="text-soft text-xs" />
            <Status status={To ?? 'Unknown'} words={checkName(Name)} />
            <span className="min-w-0">
              <Sentence text={Message} />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
