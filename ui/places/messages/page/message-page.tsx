/** One message: what keeps it from its recipients and what to do, what happened, and what was sent. Follows its events. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { ArrowLeft } from 'lucide-react';
import { useEffect, useMemo, useState } from 'react';
import type { MessageWithContents, TimelineEntry } from '../../../../src/client/api-types.ts';
import { followMessage, getMessage, getTimeline } from '../../../api/messages.ts';
import { IconButton } from '../../../components/button.tsx';
import { Notice } from '../../../components/notice.tsx';
import { PaneNotYet } from '../../../components/page.tsx';
import { Status } from '../../../components/status.tsx';
import { Tabs } from '../../../components/tabs.tsx';
import { contentTabs } from './contents.tsx';
import { FindingActions } from './finding-actions.tsx';
import { FindingBox } from './finding-box.tsx';
import { findingsOf } from './findings.ts';
import { MessageFacts } from './message-facts.tsx';
import { MessageHead } from './message-head.tsx';
import { MessageTools } from './message-tools.tsx';
import { RecipientList } from './recipient-list.tsx';

/** Events come in bursts: what is shown is read again once they pause. */
const PAUSE_MS = 300;

const WAITING: readonly string[] = ['Scheduled', 'Queued', 'Held', 'Sending', 'Deferred'];

const NO_SUCH = (
  <Notice title="There is no such message">
    Its id is wrong, it was removed because of its age, or it belongs to a domain that you may not see.
  </Notice>
);

/** The open view stays while messages are gone through. */
let lastView = 'delivery';

export function MessagePage({ id, onBack }: { id: string; onBack(): void }) {
  const queries = useQueryClient();
  const message = useQuery({
    queryKey: ['message', id],
    queryFn: ({ signal }) => getMessage(id, signal),
  });
  const timeline = useQuery({
    queryKey: ['timeline', id],
    queryFn: ({ signal }) => getTimeline(id, signal),
  });
  const { data } = message;
  const mayChange = data?.Recipients.some(({ Status: word }) => WAITING.includes(word)) === true;
  // A browser has few connections: a message that has come to its end is not followed.
  useEffect(() => {
    if (!mayChange) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const leave = followMessage(id, () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        void queries.invalidateQueries({ queryKey: ['message', id] });
        void queries.invalidateQueries({ queryKey: ['timeline', id] });
      }, PAUSE_MS);
    });
    return () => {
      clearTimeout(timer);
      leave();
    };
  }, [id, mayChange, queries]);
  const [view, setView] = useState(lastView);
  const again = (): void => {
    void message.refetch();
    void timeline.refetch();
  };
  return (
    <main aria-label="Open message" className="flex min-w-0 flex-1 flex-col overflow-y-auto">
      <div className="flex min-h-12 shrink-0 flex-wrap items-center gap-1 px-3">
        <IconButton label="Back to the list" keys="u" onClick={onBack}>
          <ArrowLeft size={16} aria-hidden />
        </IconButton>
        {data !== undefined && <MessageTools message={data} onChanged={again} />}
      </div>
      {data === undefined ? (
        <PaneNotYet error={message.error} missing={NO_SUCH} onAgain={again} />
      ) : (
        <>
          <MessageHead message={data} />
          <Tabs
            label="Views of the message"
            value={view}
            onValue={(next) => {
              lastView = next;
              setView(next);
            }}
            tabs={[
              {
                value: 'delivery',
                name: 'Delivery',
                view: () => (
                  <Delivery
                    message={data}
                    timeline={timeline.data}
                    error={timeline.error}
                    onChanged={again}
                  />
                ),
              },
              ...contentTabs(data),
            ]}
          />
        </>
      )}
    </main>
  );
}

function Delivery(props: {
  message: MessageWithContents;
  timeline: readonly TimelineEntry[] | undefined;
  error: Error | null;
  onChanged(): void;
}) {
  const { message, timeline, error } = props;
  const findings = useMemo(() => findingsOf(message, timeline ?? []), [message, timeline]);
  // Without its timeline the reasons would be wrong for a moment.
  if (timeline === undefined && error === null) return <PaneNotYet error={null} onAgain={props.onChanged} />;
  return (
    <div className="grid max-w-4xl grid-cols-[minmax(0,1fr)] gap-3 p-4">
      {findings.map((finding) => (
        <FindingBox
          key={`${finding.status} ${finding.recipients[0]}`}
          finding={finding}
          actions={
            <FindingActions
              message={message}
              finding={finding}
              isOnly={findings.length === 1}
              onChanged={props.onChanged}
            />
          }
        />
      ))}
      {findings.length === 0 && <AllWell message={message} />}
      {timeline === undefined ? (
        <p className="text-soft">What happened cannot be read: {error?.message}</p>
      ) : (
        <>
          <RecipientList
            message={message}
            timeline={timeline}
            said={new Set(findings.map(({ sentence }) => sentence))}
          />
          <MessageFacts message={message} />
        </>
      )}
    </div>
  );
}

function AllWell({ message: { RecipientStatuses, Recipients } }: { message: MessageWithContents }) {
  const { Captured = 0, Sending = 0 } = RecipientStatuses;
  if (Sending > 0) {
    const progress = Recipients.find(({ Status: word }) => word === 'Sending')?.WaitReason ?? '';
    return (
      <Status
        isSentence
        status="Sending"
        words={progress === '' ? 'It is being sent now.' : `It is ${progress}.`}
      />
    );
  }
  const all = Recipients.length > 1 ? ` to all ${Recipients.length} recipients` : '';
  return Captured > 0 ? (
    <Status isSentence status="Captured" words="The sandbox kept it: nothing left this server." />
  ) : (
    <Status
      isSentence
      status="Delivered"
      words={`Delivered${all}: the receiving server took responsibility.`}
    />
  );
}
