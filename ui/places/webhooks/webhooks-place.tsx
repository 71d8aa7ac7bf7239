/** The webhooks: whether each works, what it is called for, and how its receiver answered last. */
import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Plus, Webhook } from 'lucide-react';
import { useState } from 'react';
import type { WebhookDetail, WebhookRecord } from '../../../src/client/api-types.ts';
import { ME, mayDo } from '../../api/me.ts';
import { getWebhook, listWebhooks, WEBHOOKS } from '../../api/webhooks.ts';
import { Button } from '../../components/button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Notice } from '../../components/notice.tsx';
import { NotYet, Page } from '../../components/page.tsx';
import { Status } from '../../components/status.tsx';
import { Time } from '../../components/time.tsx';
import { useLive } from '../../components/use-live.ts';
import { useLeaving } from '../../components/use-removal.ts';
import { eventsText } from './event-words.ts';
import { duration, healthOf } from './health.ts';
import { WebhookDialog } from './webhook-dialog.tsx';

const EVERY_MS = 15_000;
/** The list says little of each; the rest is asked for one by one. */
const AT_ONCE = 50;

interface Row {
  record: WebhookRecord;
  detail: WebhookDetail | undefined;
}

export function WebhooksPlace() {
  const { data: me } = useQuery(ME);
  const { data, error, again } = useLive([...WEBHOOKS, 'list'], listWebhooks, EVERY_MS);
  const [isMaking, setMaking] = useState(false);
  const [most, setMost] = useState(AT_ONCE);
  const leaving = useLeaving<number>(WEBHOOKS);
  const all = (data ?? []).filter(({ WebhookID }) => !leaving.has(WebhookID));
  const shown = all.slice(0, most);
  const details = useQueries({
    queries: shown.map((record) => ({
      // Asked again only where the list says that something happened.
      queryKey: [...WEBHOOKS, 'row', record.WebhookID, stampOf(record)],
      queryFn: ({ signal }: { signal: AbortSignal }) => getWebhook(record.WebhookID, signal),
      staleTime: Number.POSITIVE_INFINITY,
      placeholderData: keepPreviousData,
    })),
  });
  const rows = shown.map((record, place) => {
    const detail = details[place]?.data;
    return { record, detail: detail?.WebhookID === record.WebhookID ? detail : undefined };
  });
  const add = mayDo(me, 'webhooks:write') && mayDo(me, 'events:read') && (
    <Button look="main" onClick={() => setMaking(true)}>
      <Plus size={14} aria-hidden /> New webhook
    </Button>
  );
  return (
    <Page title="Webhooks" error={error} tools={<div className="ml-auto">{add}</div>}>
      {data === undefined ? (
        <NotYet error={error} onAgain={again} />
      ) : rows.length === 0 ? (
        <Notice title="No webhooks yet" icon={<Webhook aria-hidden />}>
          <p className="mb-3">
            A webhook is an address of yours that is called for each event: delivered, bounced, opened and so
            on. Calls are signed and repeated until your program takes them.
          </p>
          {add}
        </Notice>
      ) : (
        <DataTable
          label="Webhooks"
          columns={COLUMNS}
          rows={rows}
          keyOf={({ record }) => String(record.WebhookID)}
        />
      )}
      {all.length > most && (
        <Button className="justify-self-start" onClick={() => setMost(most + AT_ONCE)}>
          Show more webhooks
        </Button>
      )}
      {isMaking && <WebhookDialog onClose={() => setMaking(false)} />}
    </Page>
  );
}

function stampOf(record: WebhookRecord): string {
  const { UpdatedAt, LastResponseAt, LastResponseCode, LastResponseTryCounter } = record;
  return [UpdatedAt, LastResponseAt, LastResponseCode, LastResponseTryCounter].join(' ');
}

const COLUMNS: readonly [Column<Row>, ...Column<Row>[]] = [
  {
    name: 'Address',
    width: 'w-4/12',
    cell: ({ record, detail }) => (
      <>
        <Link
          to="/webhooks/$id"
          params={{ id: String(record.WebhookID) }}
          className="line-clamp-3 text-accent hover:underline"
          title={record.WebhookURL}
        >
          <bdi>{record.WebhookURL}</bdi>
        </Link>
        {detail !== undefined && detail.Description !== '' && (
          <span className="line-clamp-2 font-normal text-soft text-xs">
            <bdi>{detail.Description}</bdi>
          </span>
        )}
      </>
    ),
  },
  {
    name: 'Health',
    width: 'w-44',
    cell: ({ detail }) => (detail === undefined ? null : <Word {...detail} />),
  },
  {
    name: 'Domain',
    width: 'w-2/12',
    cell: ({ detail }) => (detail === undefined ? null : <bdi>{detail.Domain}</bdi>),
  },
  {
    name: 'Called for',
    cell: ({ record }) => <p className="line-clamp-3">{eventsText(record.Event.split(','))}</p>,
  },
  {
    name: 'Last answer',
    width: 'w-32',
    cell: ({ record, detail }) =>
      record.LastResponseTryCounter === 0 ? null : (
        <>
          {record.LastResponseCode === 0 ? 'none' : record.LastResponseCode}
          {detail?.LastLatencyMs != null && (
            <span className="text-soft"> after {duration(detail.LastLatencyMs)}</span>
          )}
        </>
      ),
  },
];

function Word(detail: WebhookDetail) {
  const { status, words, meaning } = healthOf(detail);
  return (
    <div title={meaning}>
      <Status status={status} words={words} />
      {detail.FailingSince !== null && detail.Status === 'Enabled' && (
        <span className="block text-soft text-xs">
          since <Time at={detail.FailingSince} />
          {detail.Pending > 0 && ` · ${detail.Pending.toLocaleString()} waiting`}
        </span>
      )}
    </div>
  );
}
