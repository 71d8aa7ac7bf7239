/** The calls of a webhook, newest first: what came of each; unfolded, what it carried and what was answered. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ChevronRight } from 'lucide-react';
import { useState } from 'react';
import type { WebhookCall } from '../../../src/client/api-types.ts';
import { getCall, listCalls, replayCalls, WEBHOOKS } from '../../api/webhooks.ts';
import { Button } from '../../components/button.tsx';
import { Listing } from '../../components/more-button.tsx';
import { NotYet, Section } from '../../components/page.tsx';
import { usePages } from '../../components/pages.ts';
import { Status } from '../../components/status.tsx';
import { Ago, Instant, NextTry } from '../../components/time.tsx';
import { toast, toastError } from '../../components/toasts.tsx';
import { AnswerText } from './answer-text.tsx';
import { callWords, duration, tookText } from './health.ts';

interface Rights {
  mayChange: boolean;
  mayReadEvents: boolean;
  mayReadMail: boolean;
}

export function Calls({ id, ...rights }: Rights & { id: number }) {
  const list = usePages([...WEBHOOKS, 'calls', id], (after, signal) => listCalls(id, after, signal));
  return (
    <Section title="Calls">
      <Listing
        list={list}
        empty={<p className="text-soft">No calls in the last seven days. A test is not listed here.</p>}
        more="Show older calls"
      >
        {(calls) => (
          <ul aria-label="Calls" className="grid border-line border-t">
            {calls.map((call) => (
              <CallItem key={call.DeliveryID} id={id} call={call} {...rights} />
            ))}
          </ul>
        )}
      </Listing>
    </Section>
  );
}

function CallItem({
  id,
  call,
  mayChange,
  mayReadEvents,
  mayReadMail,
}: Rights & { id: number; call: WebhookCall }) {
  const [isOpen, setOpen] = useState(false);
  const { status, words, answer } = callWords(call);
  const took = tookText(call);
  return (
    <li className="border-line border-b">
      <details className="group" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary className="grid grid-cols-[7.5rem_minmax(0,1fr)] gap-x-3 py-2 -outline-offset-2 hover:bg-hover min-[44rem]:grid-cols-[8rem_minmax(0,1fr)_minmax(0,1fr)_12rem]">
          <span className="flex min-w-0 items-center gap-1.5 self-start">
            <ChevronRight size={14} aria-hidden className="shrink-0 text-soft group-open:rotate-90" />
            <Status status={status} words={words} />
          </span>
          <span className="min-w-0">
            {call.Event}
            {call.Recipient !== null && (
              <bdi className="block truncate text-soft text-xs" title={call.Recipient}>
                {call.Recipient}
              </bdi>
            )}
          </span>
          <span className="col-start-2 line-clamp-2 text-soft empty:hidden min-[44rem]:col-start-3">
            {answer}
          </span>
          <span className="col-start-2 text-soft text-xs tabular-nums min-[44rem]:col-start-4 min-[44rem]:text-right">
            {call.Tries === 1 ? '1 try' : `${call.Tries} tries`}
            {took !== '' && ` · ${took}`} · <Ago at={call.CreatedAt} />
            {call.NextTryAt !== null && (
              <span className="block">
                next try <NextTry at={call.NextTryAt} />
              </span>
            )}
          </span>
        </summary>
        {isOpen && (
          <div className="grid gap-3 pt-1 pb-3 min-[44rem]:pl-5">
            <p className="text-soft text-xs">
              Queued <Instant at={call.CreatedAt} /> · last changed <Instant at={call.UpdatedAt} />
              {call.MessageID !== null && mayReadMail && (
                <>
                  {' · '}
                  <Link to="/messages/$id" params={{ id: call.MessageID }} className="text-accent underline">
                    show the message
                  </Link>
                </>
              )}
            </p>
            {mayReadEvents && <Request id={id} callId={call.DeliveryID} />}
            <div>
              <h3 className="font-semibold">Answer</h3>
              <p>{answer === '' ? 'None yet.' : answer}</p>
              {call.ResponseBody !== '' && <AnswerText text={call.ResponseBody} />}
              {call.LatenciesMs.length > 0 && (
                <p className="mt-1 text-soft text-xs tabular-nums">
                  {call.LatenciesMs.length === 1 ? 'The try took' : 'The tries took'}{' '}
                  {call.LatenciesMs.map(duration).join(', ')}
                </p>
              )}
            </div>
            {mayChange && !['Pending', 'Sending'].includes(call.Status) && (
              <Again id={id} callId={call.DeliveryID} />
            )}
          </div>
        )}
      </details>
    </li>
  );
}

function Request({ id, callId }: { id: number; callId: number }) {
  const { data, error, refetch } = useQuery({
    queryKey: [...WEBHOOKS, 'call', id, callId],
    queryFn: ({ signal }) => getCall(id, callId, signal),
  });
  if (data === undefined) return <NotYet error={error} onAgain={() => void refetch()} />;
  const headers = Object.entries(data.Request.Headers).map(([name, value]) => `${name}: ${value}`);
  const lines = [`POST ${data.Request.URL}`, ...headers, '', prettyJson(data.Request.Body)];
  return (
    <div>
      <h3 className="font-semibold">Request</h3>
      <AnswerText text={lines.join('\n')} />
      <p className="mt-1 text-soft text-xs">Each try has a timestamp and a signature of its own.</p>
    </div>
  );
}

function Again({ id, callId }: { id: number; callId: number }) {
  const queries = useQueryClient();
  const { mutate, isPending } = useMutation({
    mutationFn: () => replayCalls(id, { DeliveryIDs: [callId] }),
    onSuccess() {
      toast({ text: 'The call is made again' });
      void queries.invalidateQueries({ queryKey: WEBHOOKS });
    },
    onError: toastError,
  });
  return (
    <Button className="justify-self-start" isBusy={isPending} onClick={() => mutate()}>
      Call again
    </Button>
  );
}

function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
