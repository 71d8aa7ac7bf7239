/** What receivers report of the mail in the name of a domain (DMARC): how much passed, from where it came, and who says so. */
import { FileSearch } from 'lucide-react';
import { useState } from 'react';
import type { DmarcSource, DmarcSummary, Domain } from '../../../src/client/api-types.ts';
import { getDmarc } from '../../api/domains.ts';
import { CodeBlock } from '../../components/copy.tsx';
import { countOf } from '../../components/count.ts';
import { type Columns, DataTable } from '../../components/data-table.tsx';
import { Gauge } from '../../components/gauge.tsx';
import { Notice } from '../../components/notice.tsx';
import { NotYet, Section } from '../../components/page.tsx';
import { Segments } from '../../components/segments.tsx';
import { Ago } from '../../components/time.tsx';
import { useLive } from '../../components/use-live.ts';

const EVERY_MS = 5 * 60_000;
const DAYS = ['7', '30', '90'];

export function ReportsView({ domain }: { domain: Domain }) {
  const [days, setDays] = useState('30');
  const name = domain.Domain;
  const { data, error, again } = useLive(
    ['domains', 'dmarc', name, days],
    (signal) => getDmarc(name, Number(days), signal),
    EVERY_MS,
  );
  return (
    <>
      <Segments
        label="Reports of"
        value={days}
        onValue={setDays}
        choices={DAYS.map((value) => ({ value, name: `${value} days` }))}
      />
      {data === undefined ? (
        <NotYet error={error} onAgain={again} />
      ) : data.Reports === 0 ? (
        <NoReports domain={domain} days={days} />
      ) : (
        <Summary summary={data} />
      )}
    </>
  );
}

function NoReports({ domain, days }: { domain: Domain; days: string }) {
  const advised = domain.DnsRecords.find(({ Purpose }) => Purpose === 'DMARC');
  const isAsked = advised?.Value.includes('rua=') === true;
  return (
    <Notice title={`No DMARC report arrived in the last ${days} days`} icon={<FileSearch aria-hidden />}>
      {domain.Status === 'Pending' && 'Reports are read only once the domain is verified. '}
      {isAsked ? (
        <>
          Receivers send one a day to each address in the domain’s DMARC record. It needs the rua of this one;
          if it has a rua already, add the address to that, after a comma:
          <CodeBlock text={advised.Value} label="DMARC record" />
        </>
      ) : (
        `The server reads them at dmarc@ the host of its return paths, where it takes returned mail (the setting returns). With a return-path host below ${domain.Domain}, the DNS records on this page name the address.`
      )}
    </Notice>
  );
}

function Summary({ summary }: { summary: DmarcSummary }) {
  const { Messages, Passed, Quarantined, Rejected, Reports, Sources, Reporters, Complete } = summary;
  return (
    <>
      <div className="grid max-w-xl gap-3">
        <Gauge label="Passed DMARC" value={Passed} limit={Messages} tone="good" />
        <p className="text-soft text-xs">
          {countOf(Reports, 'report')}. Quarantined: {Quarantined.toLocaleString()}, rejected:{' '}
          {Rejected.toLocaleString()}.{!Complete && ' There are more reports; the oldest are left out.'}
        </p>
      </div>
      <Section title="Sources" aside="addresses from which mail in its name came">
        <DataTable
          label="Sources"
          columns={SOURCE_COLUMNS}
          rows={Sources}
          keyOf={({ Address }) => Address ?? ''}
          isWide
        />
      </Section>
      <Section title="Reported by" aside="anybody can write what is not signed">
        <DataTable
          label="Reported by"
          columns={REPORTER_COLUMNS}
          rows={Reporters}
          keyOf={({ Name, SignedBy }) => `${SignedBy} ${Name}`}
        />
      </Section>
    </>
  );
}

const SOURCE_COLUMNS: Columns<DmarcSource> = [
  {
    name: 'Address',
    cell: ({ Address, Own }) => (
      <>
        {Address === null ? 'others' : <span className="break-all font-mono text-xs">{Address}</span>}
        {Own && <span className="block font-normal text-soft text-xs">this server</span>}
      </>
    ),
    width: 'w-48',
  },
  { name: 'Messages', cell: ({ Messages }) => Messages.toLocaleString(), width: 'w-24', isNumber: true },
  { name: 'Passed', cell: (row) => shareText(row.Passed, row.Messages), width: 'w-20', isNumber: true },
  { name: 'DKIM', cell: (row) => shareText(row.DKIM, row.Messages), width: 'w-20', isNumber: true },
  { name: 'SPF', cell: (row) => shareText(row.SPF, row.Messages), width: 'w-20', isNumber: true },
  {
    name: 'Found where DKIM or SPF failed',
    cell: ({ Found }) =>
      Found.length === 0 ? null : (
        <ul className="grid gap-1 text-xs">
          {Found.map(({ Text, Messages }) => (
            <li key={Text} className="break-words">
              {Messages.toLocaleString()} × {Text}
            </li>
          ))}
        </ul>
      ),
  },
  {
    name: 'Last',
    cell: ({ LastAt }) => <Ago at={LastAt} />,
    width: 'w-28',
  },
];

const REPORTER_COLUMNS: Columns<DmarcSummary['Reporters'][number]> = [
  { name: 'Name', cell: ({ Name }) => <bdi className="break-words">{Name}</bdi> },
  { name: 'Signed by', cell: ({ SignedBy }) => SignedBy ?? 'not signed' },
  { name: 'Reports', cell: ({ Reports }) => Reports.toLocaleString(), width: 'w-24', isNumber: true },
  { name: 'Messages', cell: ({ Messages }) => Messages.toLocaleString(), width: 'w-24', isNumber: true },
  { name: 'Last', cell: ({ LastAt }) => <Ago at={LastAt} />, width: 'w-28' },
];

/** Never 100% where something is missing. */
function shareText(part: number, whole: number): string {
  if (part === whole) return '100%';
  return `${Math.min(99.9, Math.round((1000 * part) / whole) / 10)}%`;
}
