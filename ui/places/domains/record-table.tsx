/** The records as a table, on a narrow screen as a list: name and value to copy, and below a wrong one what was found. */

import { CopyButton } from '../../components/copy.tsx';
import { useMedia } from '../../components/media.ts';
import { Status } from '../../components/status.tsx';
import { Finding } from './check-item.tsx';
import { type DnsHost, nameFor, valueFor } from './dns-hosts.ts';
import { foundOf } from './domain-status.ts';
import type { ShownRecord } from './records-view.tsx';

/** The table has room for its columns. */
const TABLE = '(min-width: 58rem)';
const PURPOSES: Readonly<Record<string, string>> = { ReturnPath: 'Return path', Tracking: 'Tracking host' };

interface Look {
  host: DnsHost;
  zone: string;
}

export function RecordTable({ records, ...look }: Look & { records: readonly ShownRecord[] }) {
  if (!useMedia(TABLE))
    return (
      <ul aria-label="DNS records" className="grid border-line border-t">
        {records.map((shown) => (
          <li key={keyOf(shown)} className="grid gap-1.5 border-line border-b py-3">
            <p className="flex flex-wrap items-center gap-x-3">
              <span className="font-semibold">{purposeOf(shown)}</span>
              <Found shown={shown} />
              <span className="ml-auto text-soft text-xs">{needOf(shown)}</span>
            </p>
            <dl className="grid grid-cols-[auto_minmax(0,1fr)] items-start gap-x-3">
              <dt className="py-1.5 text-soft text-xs">Type</dt>
              <dd className="py-1.5 font-mono text-xs">{shown.record.Type}</dd>
              <dt className="py-1.5 text-soft text-xs">Name</dt>
              <dd>
                <Name shown={shown} {...look} />
              </dd>
              <dt className="py-1.5 text-soft text-xs">Value</dt>
              <dd>
                <Value shown={shown} {...look} />
              </dd>
            </dl>
            <p className="text-soft text-xs">{shown.record.Why}</p>
            <Trouble shown={shown} />
          </li>
        ))}
      </ul>
    );
  return (
    <table aria-label="DNS records" className="w-full table-fixed border-collapse text-left">
      <thead className="border-line border-b text-soft text-xs">
        <tr>
          <th className="w-32 py-1.5 pr-2 font-normal">For</th>
          <th className="w-38 px-2 py-1.5 font-normal">Status</th>
          <th className="w-16 px-2 py-1.5 font-normal">Type</th>
          <th className="w-3/12 px-2 py-1.5 font-normal">Name</th>
          <th className="py-1.5 pl-2 font-normal">Value</th>
        </tr>
      </thead>
      {records.map((shown) => (
        <tbody key={keyOf(shown)} className="border-line border-b align-top">
          <tr>
            <th scope="row" className="py-2 pr-2 font-normal">
              <span className="font-semibold">{purposeOf(shown)}</span>
              <p className="text-soft text-xs">{needOf(shown)}</p>
            </th>
            <td className="px-2 py-2">
              <Found shown={shown} />
            </td>
            <td className="px-2 py-2 font-mono text-xs leading-5">{shown.record.Type}</td>
            <td className="px-2 py-0.5">
              <Name shown={shown} {...look} />
            </td>
            <td className="py-0.5 pl-2">
              <Value shown={shown} {...look} />
              <p className="pb-1.5 text-soft text-xs">{shown.record.Why}</p>
            </td>
          </tr>
          {shown.check !== null && shown.check.Status !== 'Ok' && (
            <tr>
              <td colSpan={5} className="pb-3">
                <Trouble shown={shown} />
              </td>
            </tr>
          )}
        </tbody>
      ))}
    </table>
  );
}

const keyOf = ({ record }: ShownRecord) => `${record.Type} ${record.Host}`;
const purposeOf = ({ record: { Purpose } }: ShownRecord) => PURPOSES[Purpose] ?? Purpose;
const needOf = ({ record: { Need } }: ShownRecord) => Need.toLowerCase();

function Found({ shown: { record, check } }: { shown: ShownRecord }) {
  return <Status {...foundOf(record, check)} />;
}

function Name({ shown: { record }, host, zone }: Look & { shown: ShownRecord }) {
  const name = nameFor(record.Host, zone, host.names);
  return <Copied text={name} label={`Copy the name ${name}`} title={record.Host} />;
}

function Value({ shown: { record }, host }: Look & { shown: ShownRecord }) {
  return (
    <Copied
      text={valueFor(record, host)}
      label={`Copy the value of ${record.Host}`}
      title={`${record.Value.length} characters`}
    />
  );
}

function Copied({ text, label, title }: { text: string; label: string; title: string }) {
  return (
    <div className="flex items-start gap-1">
      <code className="min-w-0 flex-1 py-1.5 font-mono text-xs" dir="ltr" title={title}>
        {text}
      </code>
      <CopyButton text={text} label={label} />
    </div>
  );
}

function Trouble({ shown: { record, check } }: { shown: ShownRecord }) {
  if (check === null || check.Status === 'Ok') return null;
  // What is expected stands above, with its button.
  return <Finding check={check.Expected === record.Value ? { ...check, Expected: '' } : check} />;
}
