/** The mail about alerts that begin and that are over: one for all of one look. Pure. */
import type { OpenAlert } from '../../store/topics/alerts.ts';

const MAX_SUBJECT = 200;
const MINUTE_MS = 60_000;

type Began = OpenAlert & { fix: string; command: string | null };
type Ended = OpenAlert & { endedAt: number };

/** At least one of them is not empty. */
export function alertMailText(
  hostname: string,
  began: readonly Began[],
  ended: readonly Ended[],
): { subject: string; text: string } {
  const [first] = [...began, ...ended];
  const total = began.length + ended.length;
  const about = oneLine(first?.message ?? '');
  const over = began.length === 0 ? 'Over: ' : '';
  const more = total > 1 ? ` (and ${total - 1} more)` : '';
  const parts = [
    ...began.map(beganText),
    ...ended.map(endedText),
    `What else needs attention: postrider status\nThis is postrider on ${hostname}. You get one mail when a problem begins, and one when it is over.`,
  ];
  return {
    subject: `[${hostname}] ${over}${about}`.slice(0, MAX_SUBJECT) + more,
    text: `${parts.join('\n\n')}\n`,
  };
}

function beganText({ message, fix, command, since }: Began): string {
  return [
    oneLine(message),
    `Since: ${new Date(since).toISOString()}`,
    ...(fix === '' ? [] : [`What to do: ${oneLine(fix)}`]),
    ...(command === null ? [] : [`Command: ${oneLine(command)}`]),
  ].join('\n');
}

function endedText({ message, since, endedAt }: Ended): string {
  return `Over since ${new Date(endedAt).toISOString()}, after ${lasted(endedAt - since)}: ${oneLine(message)}`;
}

/** `3 d 4 h`, `2 h 5 min`, `7 min`. */
export function lasted(ms: number): string {
  const minutes = Math.max(1, Math.round(ms / MINUTE_MS));
  const [days, hours] = [Math.floor(minutes / 1440), Math.floor((minutes % 1440) / 60)];
  if (days > 0) return `${days} d ${hours} h`;
  return hours > 0 ? `${hours} h ${minutes % 60} min` : `${minutes} min`;
}

/** Replies of other servers may be in it. */
function oneLine(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ').trim();
}
