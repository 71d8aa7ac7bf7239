/** How much a domain may still send, what came back of its mail, what it keeps on the disk, and what holds its mail. */
import { useQuery } from '@tanstack/react-query';
import type { Domain, DomainReturns, Me, Quota } from '../../../src/client/api-types.ts';
import { getStanding, listHoldsOf } from '../../api/domains.ts';
import { ME, mayDo } from '../../api/me.ts';
import { bytesText } from '../../components/bytes.ts';
import { Gauge } from '../../components/gauge.tsx';
import { NotYet, Section } from '../../components/page.tsx';
import { Status } from '../../components/status.tsx';
import { Until } from '../../components/time.tsx';
import { useLive } from '../../components/use-live.ts';
import { HoldButton } from '../queue/hold-dialog.tsx';
import { HoldList } from '../queue/holds-view.tsx';

const EVERY_MS = 30_000;

export function LimitsView({ domain }: { domain: Domain }) {
  const name = domain.Domain;
  const { data: me } = useQuery(ME);
  const { data, error, again } = useLive(
    ['domains', 'standing', name],
    (signal) => getStanding(name, signal),
    EVERY_MS,
  );
  return (
    <>
      <Section title="Quota" aside="recipients, counted in UTC">
        {data === undefined ? (
          <NotYet error={error} onAgain={again} />
        ) : data.Quotas.length === 0 ? (
          <p className="text-soft">No quota: it may send as much as the receivers take.</p>
        ) : (
          <div className="grid max-w-xl gap-3">
            {data.Quotas.map((quota) => (
              <QuotaGauge key={quota.Period} quota={quota} />
            ))}
          </div>
        )}
      </Section>
      <Section title="Bounces and complaints" aside="of the last 1,000 outcomes">
        <GuardRails returns={domain.Returns} />
      </Section>
      {data?.Storage.map((storage) => (
        <Section key={storage.Domain} title="Storage">
          <StorageGauges storage={storage} />
        </Section>
      ))}
      {mayDo(me, 'admin') && <Holds name={name} />}
    </>
  );
}

const PERIODS = { minute: 'This minute', hour: 'This hour', day: 'Today' } as const;

function QuotaGauge({ quota: { Period, Limit, Remaining, ResetAt } }: { quota: Quota }) {
  return (
    <Gauge label={PERIODS[Period]} value={Limit - Remaining} limit={Limit}>
      {' '}
      · <Until at={ResetAt} before="resets" after="was reset" />
    </Gauge>
  );
}

function GuardRails({ returns }: { returns: DomainReturns | null }) {
  if (returns === null)
    return <p className="text-soft">This server has seen no bounces or complaints lately.</p>;
  const { Level, Outcomes, Bounced, Complained, WarnAbove, HoldAbove, Reason } = returns;
  return (
    <div className="grid max-w-xl gap-3">
      {Level === 'Ok' ? (
        <p className="text-soft">Below the limits. {Outcomes.toLocaleString()} outcomes were counted.</p>
      ) : (
        <p className="flex flex-wrap items-baseline gap-x-3">
          <Status
            status={Level === 'Hold' ? 'Held' : 'Warning'}
            words={Level === 'Hold' ? 'Its bulk mail is held' : 'Close to being held'}
          />
          <span>{Reason}</span>
        </p>
      )}
      <Gauge label="Bounced" value={Bounced} limit={HoldAbove.Bounced} mark={WarnAbove.Bounced} />
      <Gauge label="Complained" value={Complained} limit={HoldAbove.Complained} mark={WarnAbove.Complained} />
      <p className="text-soft text-xs">
        Past the mark there is a warning. At the limit its bulk mail is held until the figures are better.
      </p>
    </div>
  );
}

function StorageGauges({ storage }: { storage: Me['Storage'][number] }) {
  const { Bytes, Limit, Recipients, RecipientLimit } = storage;
  return (
    <div className="grid max-w-xl gap-3">
      {Limit === null ? (
        <p>{bytesText(Bytes)} of mail that waits, captured copies and kept contents.</p>
      ) : (
        <Gauge
          label="Mail that waits, captured copies, kept contents"
          value={Bytes}
          limit={Limit}
          text={bytesText}
        />
      )}
      {RecipientLimit === null ? (
        <p>{Recipients.toLocaleString()} recipients wait or are being sent to.</p>
      ) : (
        <Gauge label="Recipients that wait or are being sent to" value={Recipients} limit={RecipientLimit} />
      )}
    </div>
  );
}

function Holds({ name }: { name: string }) {
  const { data, error, again } = useLive(
    ['queue', 'holds', name],
    (signal) => listHoldsOf(name, signal),
    EVERY_MS,
  );
  return (
    <Section title="Holds of its mail">
      {data === undefined ? (
        <NotYet error={error} onAgain={again} />
      ) : data.Items.length === 0 ? (
        <p className="text-soft">No hold names this domain.</p>
      ) : (
        <HoldList holds={data.Items} />
      )}
      <HoldButton from={name}>Hold its mail…</HoldButton>
    </Section>
  );
}
