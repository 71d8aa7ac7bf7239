/**
 * The webhooks: whether each works, what it is called for, and how its receiver answered last. Those that need somebody come
 * first; what is looked for stands in the address.
 */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Plus, Webhook } from 'lucide-react';
import { useState } from 'react';
import type { WebhookDetail } from '../../../src/client/api-types.ts';
import { ME, mayDo } from '../../api/me.ts';
import { listWebhooks, WEBHOOKS } from '../../api/webhooks.ts';
import { Button } from '../../components/button.tsx';
import { type Columns, DataTable } from '../../components/data-table.tsx';
import { NothingFound, Notice } from '../../components/notice.tsx';
import { NotYet, Page } from '../../components/page.tsx';
import { SearchBox, useSearchBox } from '../../components/search-box.tsx';
import { Status } from '../../components/status.tsx';
import { Ago, Lasting } from '../../components/time.tsx';
import { useLive } from '../../components/use-live.ts';
import { useLeaving } from '../../components/use-removal.ts';
import { eventsText } from './event-words.ts';
import { duration, fits, healthOf, inNeed } from './health.ts';
import { WebhookDialog } from './webhook-dialog.tsx';

const EVERY_MS = 15_000;
export function WebhooksPlace() {
  const { data: me } = useQuery(ME);
  const search = useSearchBox('/webhooks');
  const { words: q, onWords } = search;
  const list = useLive([...WEBHOOKS, 'list'], listWebhooks, EVERY_MS);
  const [isMaking, setMaking] = useState(false);
  const leaving = useLeaving<number>(WEBHOOKS);
  const all = list.data?.filter(({ WebhookID }) => !leaving.has(WebhookID));
  const rows = all?.filter((one) => fits(one, q)).sort((a, b) => +inNeed(b) - +inNeed(a));
  const add = mayDo(me, 'webhooks:write') && mayDo(me, 'events:read') && (
    <Button look="main" onClick={() => setMaking(true)}>
      <Plus size={14} aria-hidden /> New webhook
    </Button>
  );
  return (
    <Page title="Webhooks" error={list.error} tools={<div className="ml-auto">{add}</div>}>
      {all !== undefined && (all.length > 1 || q !== '') && (
        <div className="flex max-w-md">
          <SearchBox {...search} label="Find a webhook" placeholder="Address, domain, event or health" />
        </div>
      )}
      {rows === undefined ? (
        <NotYet error={list.error} onAgain={list.again} />
      ) : rows.length === 0 && q !== '' ? (
        <NothingFound
          title="No webhook matches"
          words={q}
          all="Show all webhooks"
          onAll={() => onWords('')}
        />
      ) : rows.length === 0 ? (
        <Notice title="No webhooks yet" icon={<Webhook aria-hidden />}>
          <p>
            A webhook is a URL of yours that is called for each event: delivered, bounced, opened and so on.
            Calls are signed, and repeated for three days until your program takes them.
          </p>
        </Notice>
      ) : (
        <DataTable
          label="Webhooks"
          columns={COLUMNS}
          rows={rows}
          keyOf={({ WebhookID }) => String(WebhookID)}
        />
      )}
      {isMaking && <WebhookDialog onClose={() => setMaking(false)} />}
    </Page>
  );
}

const COLUMNS: Columns<WebhookDetail> = [
  {
    name: 'Address',
    width: 'w-4/12',
    cell: (detail) => (
      <>
        <Link
          to="/webhooks/$id"
          params={{ id: String(detail.WebhookID) }}
          className="line-clamp-3 text-accent hover:underline"
          title={detail.WebhookURL}
        >
          <bdi>{detail.WebhookURL}</bdi>
        </Link>
        {detail.Description !== '' && (
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
    cell: (detail) => <Word {...detail} />,
  },
  {
    name: 'Domain',
    width: 'w-2/12',
    cell: ({ Domain }) => <bdi>{Domain}</bdi>,
  },
  {
    name: 'Called for',
    cell: ({ Events }) => <p className="line-clamp-3">{eventsText(Events)}</p>,
  },
  {
    name: 'Last answer',
    width: 'w-36',
    cell: (detail) =>
      detail.LastResponseTryCounter === 0 ? null : (
        <>
          {detail.LastResponseCode === 0 ? 'none' : detail.LastResponseCode}
          {detail.LastLatencyMs !== null && (
            <span className="whitespace-nowrap text-soft"> after {duration(detail.LastLatencyMs)}</span>
          )}
          {detail.LastResponseCode > 0 && (
            <span className="block text-soft text-xs">
              <Ago at={detail.LastResponseAt} />
            </span>
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
          <Lasting at={detail.FailingSince} />
          {detail.Pending > 0 && ` · ${detail.Pending.toLocaleString()} waiting`}
        </span>
      )}
    </div>
  );
}
