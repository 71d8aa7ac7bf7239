/** What failed, or waits, for one reason that several recipients share: what was said, what to do, and all of it again. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CircleCheck } from 'lucide-react';
import { useState } from 'react';
import type { Cause } from '../../../src/client/api-types.ts';
import { listCauses, resendAll } from '../../api/queue.ts';
import { Button } from '../../components/button.tsx';
import { countOf, countText } from '../../components/count.ts';
import { Dialog, DialogForm } from '../../components/dialog.tsx';
import { Listing } from '../../components/more-button.tsx';
import { Notice } from '../../components/notice.tsx';
import { usePages } from '../../components/pages.ts';
import { Sentence } from '../../components/sentence.tsx';
import { Ago } from '../../components/time.tsx';
import { messageOf, toast } from '../../components/toasts.tsx';

export function CausesView() {
  const list = usePages(['queue', 'causes'], listCauses);
  return (
    <Listing
      list={list}
      found={list.items?.filter(({ Waiting, Failed }) => Waiting + Failed > 0)}
      empty={
        <Notice title="Nothing failed" icon={<CircleCheck aria-hidden />}>
          When mail fails or waits, each cause is listed here once, with what to do about it.
        </Notice>
      }
      more="Show older causes"
    >
      {(items) => (
        <ul aria-label="Causes" className="grid border-line border-t">
          {items.map((cause) => (
            <CauseItem key={cause.CauseID} cause={cause} />
          ))}
        </ul>
      )}
    </Listing>
  );
}

function CauseItem({ cause }: { cause: Cause }) {
  const [isAsking, setAsking] = useState(false);
  const { Site, SenderDomain, Reply, Explanation, Waiting, WaitingBehind, Failed } = cause;
  return (
    <li className="flex flex-wrap items-start gap-x-4 gap-y-2 border-line border-b py-3">
      <div className="grid min-w-0 flex-1 basis-72 gap-1">
        <p className="flex flex-wrap items-baseline gap-x-3">
          <span className="font-semibold">
            <bdi>{Site}</bdi>
          </span>
          {SenderDomain !== null && (
            <span className="text-soft">
              from <bdi>{SenderDomain}</bdi>
            </span>
          )}
          {Failed > 0 && <span className="text-bad tabular-nums">{countUpTo(Failed)} failed</span>}
          {Waiting > 0 && <span className="text-warn tabular-nums">{countUpTo(Waiting)} waiting</span>}
          {WaitingBehind > 0 && (
            <span className="text-warn tabular-nums">{countText(WaitingBehind)} waiting behind it</span>
          )}
        </p>
        <p>
          <Sentence text={Explanation} />
        </p>
        <p className="line-clamp-3 font-mono text-soft text-xs" title={Reply} dir="ltr">
          {Reply}
        </p>
        <p className="text-soft text-xs">
          first <Ago at={cause.FirstSeen} /> · last <Ago at={cause.LastSeen} />
          {cause.Example !== null && (
            <>
              {' '}
              · for example <bdi>{cause.Example.Recipient}</bdi>
            </>
          )}{' '}
          ·{' '}
          <Link to="/messages" search={{ q: `cause:${cause.CauseID}` }} className="text-accent underline">
            show the messages
          </Link>
        </p>
      </div>
      <Button onClick={() => setAsking(true)}>Resend all…</Button>
      {isAsking && <ResendDialog cause={cause} onClose={() => setAsking(false)} />}
    </li>
  );
}

function ResendDialog({ cause, onClose }: { cause: Cause; onClose(): void }) {
  const queries = useQueryClient();
  const [queued, setQueued] = useState(0);
  const count = cause.Waiting + cause.Failed;
  const resending = useMutation({
    mutationFn: () => resendAll(cause, setQueued),
    onSuccess: (sum) => toast({ text: `${countOf(sum, 'recipient')} of ${cause.Site} queued again` }),
    onError: (error) => toast({ text: `Not all were queued again: ${messageOf(error)}` }),
    onSettled() {
      void queries.invalidateQueries({ queryKey: ['queue'] });
      onClose();
    },
  });
  return (
    <Dialog title={`Resend to ${cause.Site}`} onClose={onClose}>
      <DialogForm
        running={resending}
        action="Resend"
        aside={resending.isPending && <span className="mr-auto text-soft tabular-nums">{queued} queued</span>}
        onSubmit={() => resending.mutate()}
        onCancel={onClose}
      >
        <p>
          {countUpTo(count)} {count === 1 ? 'recipient is' : 'recipients are'} queued again and sent within
          the usual limits. Do this once the cause is mended: what fails again bounces again. Who was
          suppressed since is left out.
        </p>
      </DialogForm>
    </Dialog>
  );
}

/** The API counts up to 10,000 of each. */
function countUpTo(count: number): string {
  return countText(count, count < 10_000);
}
