/** What this server refused lately, by HTTP and SMTP: what it was, why, and what helps. The newest first. */
import { ShieldCheck } from 'lucide-react';
import type { Refusal } from '../../../../src/client/api-types.ts';
import { listRefusals } from '../../../api/system.ts';
import { Listing } from '../../../components/more-button.tsx';
import { Notice } from '../../../components/notice.tsx';
import { usePages } from '../../../components/pages.ts';
import { Ago } from '../../../components/time.tsx';
import { REFUSALS } from '../keys.ts';
import { adviceFor } from './advice.ts';

export function RefusalsView() {
  const list = usePages(REFUSALS, listRefusals);
  return (
    <Listing
      list={list}
      empty={
        <Notice title="Nothing was refused" icon={<ShieldCheck aria-hidden />}>
          Requests and SMTP commands that the server has refused since its start are listed here, with the
          reason.
        </Notice>
      }
      more="Show older ones"
    >
      {(refusals) => (
        <ul aria-label="Refused" className="grid border-line border-t">
          {refusals.map((refusal) => (
            <Row key={refusal.RefusalID} refusal={refusal} />
          ))}
        </ul>
      )}
    </Listing>
  );
}

function Row({ refusal }: { refusal: Refusal }) {
  const { Time: at, Since, Times, Via, Action, Status, Name, Message, Domain, TokenName, Peer } = refusal;
  const by = [
    TokenName === null ? 'without a login' : `by ${TokenName}`,
    ...(Domain === null ? [] : [`for ${Domain}`]),
    `from ${Peer}`,
  ];
  return (
    <li className="grid gap-0.5 border-line border-b py-2.5">
      <p className="flex flex-wrap items-baseline gap-x-3">
        <bdi className="font-semibold">{Message}</bdi>
        {Times > 1 && <span className="text-warn tabular-nums">{Times.toLocaleString()} times</span>}
        <span className="text-soft text-xs">
          {Times > 1 && (
            <>
              first <Ago at={Since} />, last{' '}
            </>
          )}
          <Ago at={at} />
        </span>
      </p>
      <p>{adviceFor(refusal)}</p>
      <p className="text-soft text-xs">
        {Via} <span className="font-mono">{Action}</span> · {Status} ·{' '}
        {Name !== null && (
          <>
            <a href={`/api/v1/problems/${encodeURIComponent(Name)}`} className="text-accent underline">
              {Name}
            </a>{' '}
            ·{' '}
          </>
        )}
        <bdi>{by.join(' · ')}</bdi>
      </p>
    </li>
  );
}
