/** What waits for one site, by sender domain and priority. */
import { Link } from '@tanstack/react-router';
import type { Queue } from '../../../src/client/api-types.ts';
import { countText } from '../../components/count.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Ago, NextTry } from '../../components/time.tsx';

export function SiteQueues({ queues }: { queues: readonly Queue[] }) {
  /** Domains that share their hosts. */
  const isSeveral = new Set(queues.map(({ Site }) => Site)).size > 1;
  return (
    <DataTable
      label="Queues"
      columns={[FROM, ...(isSeveral ? [TO] : []), ...COLUMNS]}
      rows={queues}
      keyOf={({ Site, SenderDomain, Priority, Tags }) => `${Site} ${SenderDomain} ${Priority} ${Tags.join()}`}
    />
  );
}

const FROM: Column<Queue> = {
  name: 'From',
  cell: ({ SenderDomain }) => (
    <Link to="/domains/$name" params={{ name: SenderDomain }} className="text-accent hover:underline">
      <bdi>{SenderDomain}</bdi>
    </Link>
  ),
};
const TO: Column<Queue> = { name: 'To', cell: ({ Site }) => <bdi>{Site}</bdi> };
const COLUMNS: readonly Column<Queue>[] = [
  { name: 'Priority', width: 'w-24', cell: ({ Priority }) => Priority },
  {
    name: 'Waiting',
    width: 'w-24',
    isNumber: true,
    cell: ({ Waiting, Complete, Site, SenderDomain }) => (
      <Link
        to="/messages"
        search={{ q: `domain:${SenderDomain} @${Site} status:queued` }}
        title="Show the messages"
        className="text-accent hover:underline"
      >
        {countText(Waiting, Complete)}
      </Link>
    ),
  },
  { name: 'Oldest', width: 'w-28', cell: ({ OldestAt }) => <Ago at={OldestAt} /> },
  {
    name: 'Next try',
    width: 'w-28',
    cell: ({ NextDueAt }) => (NextDueAt === null ? 'held' : <NextTry at={NextDueAt} />),
  },
  {
    name: 'Route',
    cell: ({ Route, Tags }) => (
      <span className="font-mono text-xs">{[Route, ...Tags.map((tag) => `#${tag}`)].join(' ')}</span>
    ),
  },
];
