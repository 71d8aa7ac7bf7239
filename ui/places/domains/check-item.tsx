/** What one check found: in words, what stands in the DNS, what should, and what to do. All of it may be a stranger's text. */
import type { DomainCheck } from '../../../src/client/api-types.ts';
import { CopyButton } from '../../components/copy.tsx';
import { Sentence } from '../../components/sentence.tsx';
import { Status } from '../../components/status.tsx';
import { checkName } from './domain-status.ts';

const EDGES = {
  Failed: 'border-l-bad',
  Warning: 'border-l-warn',
  Unknown: 'border-l-line-strong',
  Ok: 'border-l-good',
} as const;

/** A check that has no record of ours. */
export function CheckItem({ check }: { check: DomainCheck }) {
  const { Name, Status: status, Message, Host } = check;
  return (
    <li className="grid gap-1 border-line border-b py-2.5">
      <p className="flex flex-wrap items-center gap-x-3">
        <span className="font-semibold">{checkName(Name)}</span>
        <Status status={status} />
        <code className="ml-auto font-mono text-soft text-xs">
          <bdi>{Host}</bdi>
        </code>
      </p>
      {status === 'Ok' ? (
        <p className="max-w-prose">
          <Sentence text={Message} />
        </p>
      ) : (
        <Finding check={check} />
      )}
    </li>
  );
}

/** The words of a check that is not as it should be. */
export function Finding({ check }: { check: DomainCheck }) {
  const { Status: status, Message, Fix, Found, Expected } = check;
  return (
    <div className={`grid gap-1.5 border-l-4 bg-page py-2 pr-2 pl-3 ${EDGES[status]}`}>
      <p className="max-w-prose">
        <Sentence text={Message} />
      </p>
      {Fix !== '' && (
        <p className="max-w-prose font-semibold">
          <Sentence text={Fix} />
        </p>
      )}
      {(Found.length > 0 || Expected !== '') && (
        <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 gap-y-1 text-xs">
          <dt className="text-soft">Found</dt>
          <dd>
            {Found.length === 0
              ? 'nothing'
              : Found.map((text) => (
                  <code key={text} dir="ltr" className="block font-mono">
                    {text}
                  </code>
                ))}
          </dd>
          {Expected !== '' && (
            <>
              <dt className="text-soft">Expected</dt>
              <dd className="flex items-start gap-1">
                <code dir="ltr" className="min-w-0 font-mono">
                  {Expected}
                </code>
                <span className="-my-1.5">
                  <CopyButton text={Expected} label={`Copy what is expected of ${checkName(check.Name)}`} />
                </span>
              </dd>
            </>
          )}
        </dl>
      )}
    </div>
  );
}
