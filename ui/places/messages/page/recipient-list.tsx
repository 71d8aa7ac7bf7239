/** Every recipient with what happened to it; of many, those that need a look stand first and open. */
import { ChevronRight } from 'lucide-react';
import type {
  MessageRecipient,
  MessageWithContents,
  TimelineEntry,
} from '../../../../src/client/api-types.ts';
import { Address } from '../../../components/addresses.tsx';
import { CopyButton } from '../../../components/copy.tsx';
import { Status, statusName } from '../../../components/status.tsx';
import { reportText } from './entry-words.ts';
import { RecipientMenu } from './recipient-menu.tsx';
import { Timeline } from './timeline.tsx';

/** With more of them only the first ones that need a look are open. */
const ALL_OPEN = 2;
const ORDER = ['Bounced', 'Failed', 'Rejected', 'Held', 'Deferred', 'Suppressed', 'Sending', 'Queued'];

export function RecipientList({
  message,
  timeline,
  said,
}: {
  message: MessageWithContents;
  timeline: readonly TimelineEntry[];
  /** Sentences that stand above already. */
  said: ReadonlySet<string>;
}) {
  const rank = ({ Status: word }: MessageRecipient) =>
    (ORDER.indexOf(word) + ORDER.length + 1) % (ORDER.length + 1);
  const recipients = [...message.Recipients].sort((a, b) => rank(a) - rank(b));
  const shared = timeline.filter((entry) => entry.Recipient === null);
  const isOne = recipients.length === 1;
  return (
    <section className="grid gap-2">
      <h2 className="font-semibold">{isOne ? 'What happened' : `${recipients.length} recipients`}</h2>
      <ul className="grid gap-2">
        {recipients.map((recipient, place) => (
          <Recipient
            key={recipient.Email}
            message={message}
            recipient={recipient}
            said={said}
            isOpen={recipients.length <= ALL_OPEN || (place === 0 && rank(recipient) < ORDER.length)}
            entries={timeline.filter(
              (entry) => entry.Recipient === recipient.Email || (isOne && entry.Recipient === null),
            )}
          />
        ))}
      </ul>
      {!isOne && shared.length > 0 && (
        <>
          <h2 className="mt-2 font-semibold">For several recipients</h2>
          <Timeline entries={shared} said={said} />
        </>
      )}
    </section>
  );
}

function Recipient(props: {
  message: MessageWithContents;
  recipient: MessageRecipient;
  entries: readonly TimelineEntry[];
  said: ReadonlySet<string>;
  isOpen: boolean;
}) {
  const { recipient } = props;
  const { Email, Type, Route, Attempts } = recipient;
  const word = recipient.Status === 'Delivered' && Route === 'sandbox' ? 'Captured' : recipient.Status;
  return (
    <li className="relative rounded-md border border-line">
      <details open={props.isOpen} className="group">
        <summary className="flex min-h-10 list-none items-center gap-2 rounded-md py-1.5 pr-12 pl-2 -outline-offset-2 hover:bg-hover [&::-webkit-details-marker]:hidden">
          <ChevronRight size={14} aria-hidden className="shrink-0 text-soft group-open:rotate-90" />
          <span className="flex min-w-0 flex-1 flex-wrap items-baseline justify-between gap-x-3">
            <span className="min-w-0">
              <span className="font-semibold">
                <Address text={Email} />
              </span>
              {Type !== 'To' && <span className="ml-2 text-soft text-xs">{Type}</span>}
            </span>
            <span className="flex shrink-0 items-baseline gap-2">
              {Attempts > 1 && <span className="text-soft text-xs">{Attempts} attempts</span>}
              <Status status={word} />
            </span>
          </span>
        </summary>
        <div className="px-3 pt-1 pb-3">
          {props.entries.length === 0 ? (
            <p className="text-soft">No events are stored.</p>
          ) : (
            <>
              <Timeline entries={props.entries} said={props.said} />
              <CopyButton
                text={reportText(props.message, { address: Email, status: statusName(word) }, props.entries)}
                label={`Copy as text what happened to the mail for ${Email}`}
                words="Copy as text"
              />
            </>
          )}
        </div>
      </details>
      <div className="absolute top-1 right-1.5">
        <RecipientMenu
          domain={props.message.Domain}
          address={Email}
          isSuppressed={recipient.Status === 'Suppressed'}
        />
      </div>
    </li>
  );
}
