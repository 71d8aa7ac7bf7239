/** Lines of a timeline in words, and all of them as one text. Pure. */
import type { MessageWithContents, TimelineEntry } from '../../../../src/client/api-types.ts';
import { capital } from '../../../../src/lib/capital.ts';
import { decimalText } from '../../../components/count.ts';
import { isOwnWord } from './findings.ts';

const WORDS: Readonly<Record<string, string>> = {
  accepted: 'Accepted',
  scheduled: 'Scheduled for later',
  suppressed: 'Not sent: on the suppression list',
  rejected: 'Refused here',
  canceled: 'Stopped by request',
  requeued: 'Queued again by request',
  opened: 'Opened',
  clicked: 'A link was followed',
  complained: 'Reported as spam',
  complaint_withdrawn: 'The report as spam was taken back',
  unsubscribed: 'Unsubscribed',
  auto_reply: 'An automatic reply came back',
  held: 'Held back on this server',
  released: 'No longer held back',
  late_outcome: 'An outcome came after its lease was lost',
  suppression_added: 'Put on the suppression list',
  suppression_removed: 'Removed from the suppression list',
  return_noted: 'Mail came back, without an effect',
  path_blocked: 'The way to the receiving server was closed',
  path_unblocked: 'The way to the receiving server is open again',
};

export function entryTitle(entry: TimelineEntry): string {
  const { Attempt } = entry;
  const tried = (words: string): string =>
    Attempt !== null && Attempt > 0 ? `Attempt ${Attempt}: ${words}` : capital(words);
  switch (entry.Event) {
    case 'delivered':
      return entry.Route === 'sandbox' ? 'Captured by the sandbox' : tried('delivered');
    case 'deferred':
      return tried('not delivered yet');
    case 'bounced':
      return entry.Bounce?.Phase === 'Async'
        ? 'A report came back: it was not delivered'
        : tried('refused for good');
    case 'failed':
      return tried('given up');
    default:
      return WORDS[entry.Event] ?? entry.Event;
  }
}

/** What stands before the time that an entry planned, while it is ahead and once it is past: it may have come otherwise. */
export function plannedWords(event: TimelineEntry['Event']): { before: string; after: string } {
  if (event === 'deferred') return { before: 'Next try', after: 'Next try was due' };
  if (event === 'scheduled') return { before: 'To be sent', after: 'Was to be sent' };
  return { before: 'Ends', after: 'Was to end' };
}

/** What an entry planned says something until the mail is tried again: `later` are the entries behind it. */
export function isPlanOpen({ Attempt }: TimelineEntry, later: readonly TimelineEntry[]): boolean {
  return !later.some((one) => (one.Attempt ?? 0) > (Attempt ?? 0));
}

/** Where, how protected, how long: what is known of it, and nothing else. */
export function entryFacts({
  RemoteMta,
  SourceAddress,
  Route,
  Tls,
  DurationMs,
  IPAddress,
}: TimelineEntry): readonly string[] {
  return [
    RemoteMta === '' ? '' : Route === 'relay' ? `relay ${RemoteMta}` : RemoteMta,
    SourceAddress === '' ? '' : `from ${SourceAddress}`,
    Tls === '' ? '' : Tls.startsWith('none') ? `no TLS${Tls.slice('none'.length)}` : Tls,
    DurationMs === null ? '' : durationText(DurationMs),
    IPAddress,
  ].filter((fact) => fact !== '');
}

/** What became of a message for one recipient, for a mail or a ticket to somebody else: times in UTC, what was said, what it means. */
export function reportText(
  message: Pick<MessageWithContents, 'MessageID' | 'Subject' | 'From'>,
  { address, status }: { address: string; status: string },
  entries: readonly TimelineEntry[],
): string {
  const lines = entries.flatMap((entry) => {
    const told = [isOwnWord(entry.Reply) ? '' : entry.Reply, entry.Explanation || entry.Reason];
    return [
      [`${entry.At} ${entryTitle(entry)}`, ...entryFacts(entry)].join(' · '),
      ...[...new Set(told)].filter((text) => text !== '').map((text) => `  ${text.replaceAll('\n', '\n  ')}`),
    ];
  });
  return [
    `${status}: ${address}`,
    `From: ${message.From.Email}`,
    `Subject: ${message.Subject}`,
    `Message id: ${message.MessageID}`,
    '',
    ...lines,
  ].join('\n');
}

function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${decimalText(ms / 1_000)} s` : `${Math.round(ms / 60_000)} min`;
}

/** Lines of a conversation: milliseconds since its beginning, who speaks, what. `who` '' = a remark. */
export function conversationLines(
  text: string,
): readonly { at: string; who: 'client' | 'server' | ''; said: string }[] {
  return text.split('\n').map((line) => {
    const [, ms, who, said = ''] = /^([0-9]{1,9}) ([CS]): ?(.*)$/.exec(line) ?? [];
    if (ms === undefined) return { at: '', who: '', said: line };
    return { at: durationText(Number(ms)), who: who === 'C' ? 'client' : 'server', said };
  });
}
