/** Sender domains as a table, on a phone as a list: the name, how it stands, what is wrong, when that was looked at. */
import { Link } from '@tanstack/react-router';
import type { Domain } from '../../../src/client/api-types.ts';
import { Address } from '../../components/addresses.tsx';
import { type Columns, DataTable } from '../../components/data-table.tsx';
import { Status } from '../../components/status.tsx';
import { Ago } from '../../components/time.tsx';
import { wordOf, worstOf } from './domain-status.ts';

export function DomainList({ domains, isOld }: { domains: readonly Domain[]; isOld: boolean }) {
  return (
    <DataTable
      label="Sender domains"
      columns={COLUMNS}
      rows={domains}
      keyOf={({ Domain }) => Domain}
      isOld={isOld}
    />
  );
}

const COLUMNS: Columns<Domain> = [
  {
    name: 'Domain',
    width: 'w-4/12',
    cell: ({ Domain: name }) => (
      <Link to="/domains/$name" params={{ name }} className="block text-accent hover:underline">
        <Address text={name} />
      </Link>
    ),
  },
  { name: 'Status', width: 'w-32', cell: (domain) => <DomainWord domain={domain} /> },
  {
    name: 'What is wrong',
    cell(domain) {
      const worst = worstOf(domain);
      return worst === null ? null : <p className="line-clamp-2">{worst}</p>;
    },
  },
  {
    name: 'Checked',
    width: 'w-24',
    cell: ({ LastCheckedAt }) => (LastCheckedAt === null ? 'never' : <Ago at={LastCheckedAt} />),
  },
];

export function DomainWord({ domain }: { domain: Domain }) {
  return <Status status={wordOf(domain, Date.now())} />;
}
