/** Sender domains as a table, on a phone as a list: the name, how it stands, what is wrong, when that was looked at. */
import { Link } from '@tanstack/react-router';
import type { Domain } from '../../../src/client/api-types.ts';
import { Address } from '../../components/addresses.tsx';
import { useMedia } from '../../components/media.ts';
import { Status } from '../../components/status.tsx';
import { Ago } from '../../components/time.tsx';
import { wordOf, worstOf } from './domain-status.ts';

/** The table has room for its columns. */
const TABLE = '(min-width: 58rem)';

export function DomainList({ domains }: { domains: readonly Domain[] }) {
  return useMedia(TABLE) ? (
    <table aria-label="Sender domains" className="w-full table-fixed border-collapse text-left">
      <thead className="border-line border-b text-soft text-xs">
        <tr>
          <th className="w-4/12 py-1.5 pr-3 font-normal">Domain</th>
          <th className="w-32 px-2 py-1.5 font-normal">Status</th>
          <th className="px-2 py-1.5 font-normal">What is wrong</th>
          <th className="w-24 py-1.5 pl-2 font-normal">Checked</th>
        </tr>
      </thead>
      <tbody>
        {domains.map((domain) => (
          <tr key={domain.Domain} className="border-line border-b align-top hover:bg-hover">
            <th scope="row" className="py-2 pr-3 font-normal">
              <DomainLink name={domain.Domain} />
            </th>
            <td className="px-2 py-2">
              <DomainWord domain={domain} />
            </td>
            <td className="px-2 py-2">
              <Wrong domain={domain} />
            </td>
            <td className="py-2 pl-2 text-soft">
              <Checked at={domain.LastCheckedAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  ) : (
    <ul aria-label="Sender domains" className="grid border-line border-t">
      {domains.map((domain) => (
        <li key={domain.Domain} className="grid gap-0.5 border-line border-b py-2.5">
          <DomainLink name={domain.Domain} />
          <div className="flex flex-wrap items-center gap-x-3">
            <DomainWord domain={domain} />
            <span className="text-soft text-xs">
              checked <Checked at={domain.LastCheckedAt} />
            </span>
          </div>
          <Wrong domain={domain} />
        </li>
      ))}
    </ul>
  );
}

export function DomainWord({ domain }: { domain: Domain }) {
  return <Status status={wordOf(domain, Date.now())} />;
}

function DomainLink({ name }: { name: string }) {
  return (
    <Link to="/domains/$name" params={{ name }} className="text-accent hover:underline">
      <Address text={name} />
    </Link>
  );
}

function Wrong({ domain }: { domain: Domain }) {
  const worst = worstOf(domain);
  return worst === null ? null : <p className="line-clamp-2">{worst}</p>;
}

function Checked({ at }: { at: string | null }) {
  return at === null ? 'never' : <Ago at={at} />;
}
