/**
 * One webhook: whether it works and since when not, its calls with what they carried, a test whose answer is shown at once,
 * and code for its receiver.
 */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { lazy, useEffect } from 'react';
import type { WebhookDetail, WebhookTest } from '../../../src/client/api-types.ts';
import { ME, mayDo } from '../../api/me.ts';
import { getWebhook, testWebhook, WEBHOOKS } from '../../api/webhooks.ts';
import { HeadRow } from '../../components/addresses.tsx';
import { FormError } from '../../components/field.tsx';
import { LazyPart } from '../../components/missing.tsx';
import { NotYet, Page, Section } from '../../components/page.tsx';
import { Status } from '../../components/status.tsx';
import { Ago, Lasting } from '../../components/time.tsx';
import { useKeys } from '../../components/use-keys.ts';
import { useLive } from '../../components/use-live.ts';
import { AnswerText } from './answer-text.tsx';
import { Calls } from './calls.tsx';
import { eventsText } from './event-words.ts';
import { duration, healthOf, testWords } from './health.ts';
import { WebhookTools } from './webhook-tools.tsx';

const ReceiverCode = lazy(() => import('./receiver-code.tsx').then((one) => ({ default: one.ReceiverCode })));
const EVERY_MS = 10_000;

export function WebhookPage() {
  const { id: text } = useParams({ from: '/webhooks/$id' });
  const id = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  const navigate = useNavigate();
  const queries = useQueryClient();
  const { data: me } = useQuery(ME);
  const { data, error, again } = useLive(
    [...WEBHOOKS, 'one', id],
    (signal) => getWebhook(id, signal),
    EVERY_MS,
  );
  const testing = useMutation({ mutationFn: () => testWebhook(id) });
  const stamp = data && `${data.LastResponseAt} ${data.LastResponseTryCounter} ${data.Pending}`;
  // Something happened: the calls are read again.
  useEffect(() => {
    if (stamp !== undefined) void queries.invalidateQueries({ queryKey: [...WEBHOOKS, 'calls', id] });
  }, [queries, id, stamp]);
  useKeys({ u: () => void navigate({ to: '/webhooks' }) });
  return (
    <Page
      error={error}
      back={{ to: '/webhooks', label: 'Back to the webhooks', keys: 'u' }}
      name={data?.WebhookURL ?? `Webhook ${text}`}
      title={
        <bdi className="line-clamp-3" title={data?.WebhookURL}>
          {data?.WebhookURL ?? `Webhook ${text}`}
        </bdi>
      }
      tools={
        data !== undefined &&
        mayDo(me, 'webhooks:write') && (
          <WebhookTools
            webhook={data}
            mayReadEvents={mayDo(me, 'events:read')}
            isTesting={testing.isPending}
            onTest={() => testing.mutate()}
          />
        )
      }
    >
      {data === undefined ? (
        <NotYet error={error} onAgain={again} />
      ) : (
        <>
          <Standing webhook={data} />
          {testing.isPending && <p role="status">The receiver is called. It has 15 seconds to answer.</p>}
          <FormError error={testing.error} />
          {testing.data !== undefined && !testing.isPending && <TestAnswer answer={testing.data} />}
          <Calls
            id={id}
            mayChange={mayDo(me, 'webhooks:write')}
            mayReadEvents={mayDo(me, 'events:read')}
            mayReadMail={mayDo(me, 'email:read')}
          />
          <Section title="Code for the receiver">
            <LazyPart>
              <ReceiverCode />
            </LazyPart>
          </Section>
        </>
      )}
    </Page>
  );
}

function Standing({ webhook }: { webhook: WebhookDetail }) {
  const { status, words, meaning } = healthOf(webhook);
  const { LastLatencyMs, LastResponseAt, LastResponseBody, LastResponseCode, LastResponseTryCounter } =
    webhook;
  const { FailingSince, Pending, Description, Domain } = webhook;
  return (
    <div className="grid gap-3">
      <div role="status" aria-label="How it stands" className="flex flex-wrap items-center gap-x-3">
        <Status status={status} words={words} className="font-semibold" />
        {FailingSince !== null && webhook.Status === 'Enabled' && (
          <span>
            <Lasting at={FailingSince} />
          </span>
        )}
        <span className="min-w-0">{meaning}</span>
      </div>
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1">
        <HeadRow name="Called for">{eventsText(webhook.Events)}</HeadRow>
        <HeadRow name="Mail from">
          <bdi>{Domain}</bdi>
        </HeadRow>
        {Description !== '' && (
          <HeadRow name="Description">
            <bdi>{Description}</bdi>
          </HeadRow>
        )}
        {LastResponseTryCounter > 0 && (
          <HeadRow name="Last answer">
            {LastResponseCode === 0 ? 'none' : LastResponseCode}
            {LastLatencyMs !== null && ` after ${duration(LastLatencyMs)}`}
            {LastResponseCode > 0 && (
              <>
                , <Ago at={LastResponseAt} />
              </>
            )}
          </HeadRow>
        )}
        {Pending > 0 && <HeadRow name="Calls that wait">{Pending.toLocaleString()}</HeadRow>}
        <HeadRow name="Secret">
          <span className="font-mono text-xs">…{webhook.SecretHint}</span>
        </HeadRow>
      </dl>
      {LastResponseBody !== '' && (
        <details open={status !== 'Ok'}>
          <summary className="w-fit text-accent underline-offset-2 hover:underline">
            Text of the last answer
          </summary>
          <AnswerText text={LastResponseBody} />
        </details>
      )}
    </div>
  );
}

function TestAnswer({ answer }: { answer: WebhookTest }) {
  const { isTaken, words } = testWords(answer);
  return (
    <div role="status" aria-label="Answer to the test" className="grid gap-1">
      <p className="flex flex-wrap items-center gap-x-3">
        <Status status={isTaken ? 'Ok' : 'Failed'} words={isTaken ? 'Test taken' : 'Test failed'} /> {words}
      </p>
      {answer.Body !== '' && <AnswerText text={answer.Body} />}
    </div>
  );
}
