/** Where mail, a domain or a check stands, by a word and a shape; the colour says the same once more. */
import {
  Ban,
  CalendarClock,
  CircleCheck,
  CircleDashed,
  CirclePause,
  CircleSlash,
  CircleX,
  Clock,
  Inbox,
  type LucideIcon,
  Send,
  TriangleAlert,
} from 'lucide-react';

interface Look {
  word: string;
  icon: LucideIcon;
  colour: string;
}

const LOOKS: Readonly<Record<string, Look>> = {
  Scheduled: { word: 'Scheduled', icon: CalendarClock, colour: 'text-accent' },
  Queued: { word: 'Queued', icon: CircleDashed, colour: 'text-accent' },
  Held: { word: 'Held', icon: CirclePause, colour: 'text-warn' },
  Sending: { word: 'Sending', icon: Send, colour: 'text-accent' },
  Deferred: { word: 'Deferred', icon: Clock, colour: 'text-warn' },
  Delivered: { word: 'Delivered', icon: CircleCheck, colour: 'text-good' },
  PartiallyDelivered: { word: 'Partly delivered', icon: TriangleAlert, colour: 'text-warn' },
  Captured: { word: 'Captured', icon: Inbox, colour: 'text-kept' },
  Bounced: { word: 'Bounced', icon: CircleX, colour: 'text-bad' },
  Failed: { word: 'Failed', icon: CircleX, colour: 'text-bad' },
  Rejected: { word: 'Rejected', icon: CircleX, colour: 'text-bad' },
  Suppressed: { word: 'Suppressed', icon: Ban, colour: 'text-warn' },
  Verified: { word: 'Verified', icon: CircleCheck, colour: 'text-good' },
  Failing: { word: 'Failing', icon: TriangleAlert, colour: 'text-bad' },
  Pending: { word: 'Pending', icon: CircleDashed, colour: 'text-accent' },
  Ok: { word: 'In place', icon: CircleCheck, colour: 'text-good' },
  Warning: { word: 'Could be better', icon: TriangleAlert, colour: 'text-warn' },
  Unknown: { word: 'Not checked', icon: CircleDashed, colour: 'text-soft' },
  Canceled: { word: 'Canceled', icon: CircleSlash, colour: 'text-soft' },
};

/** The name of a status as it is shown. */
export const statusName = (status: string) => LOOKS[status]?.word ?? status;

/** `words` in place of its own name: `Delivered 2, Bounced 1`. */
export function Status({
  status,
  words,
  isSentence = false,
  className = '',
}: {
  status: string;
  words?: string;
  /** The words go on in further lines instead of being cut. */
  isSentence?: boolean;
  className?: string;
}) {
  const { word, icon: Icon, colour } = LOOKS[status] ?? { word: status, icon: CircleDashed, colour: '' };
  return (
    // On the line of the text beside it: without a baseline of its own that would be the icon's lower edge.
    <span className={`inline-flex min-w-0 items-baseline gap-1.5 ${colour} ${className}`}>
      <Icon size={14} aria-hidden className="shrink-0 self-center" />
      <span className={isSentence ? '' : 'truncate'}>{words ?? word}</span>
    </span>
  );
}
