/**
 * What keeps a message from its recipients: whose fault it is and what to do, once for all recipients it is true of, the worst
 * first. Given the message and its timeline; leaves nothing for recipients that have it. The sentences are the server's. Pure.
 */
import type {
  MessageRecipient,
  MessageWithContents,
  TimelineEntry,
} from '../../../../src/client/api-types.ts';
import { capital } from '../../../../src/lib/capital.ts';
import {
  DEFERRED,
  dashboardSentence,
  isDomainReason,
  SCHEDULED,
  withoutNoCode,
} from '../../../../src/model/wait-reason.ts';

export interface Finding {
  /** Of the recipients: a word of `Status`. */
  status: MessageRecipient['Status'];
  recipients: readonly string[];
  /** What it means, whose fault it is, what happens next; '' = nothing is known. */
  sentence: string;
  /** What the other server said, and which one; '' = none said anything. */
  reply: string;
  host: string;
  nextAttemptAt: string | null;
  expiresAt: string;
  /** Mail of others failed for the same cause; null = nobody else's, or not to be told. */
  causeId: number | null;
  /** What keeps it back: the sender domain itself, or something that is released in the queue; null = nothing does. */
  heldBy: 'domain' | 'hold' | null;
}

type Status = MessageRecipient['Status'];

const WORST_FIRST: readonly Status[] = [
  ...(['Bounced', 'Failed', 'Rejected', 'Held', 'Deferred', 'Suppressed'] as const),
  ...(['Queued', 'Scheduled', 'Canceled'] as const),
];
/** Which event of the timeline tells why somebody stands there. */
const TOLD_BY: Partial<Record<Status, readonly string[]>> = {
  Bounced: ['bounced'],
  Failed: ['failed'],
  Rejected: ['rejected'],
  Deferred: ['deferred'],
  Suppressed: ['suppressed'],
};

export function findingsOf(
  { Recipients }: Pick<MessageWithContents, 'Recipients'>,
  timeline: readonly TimelineEntry[],
): readonly Finding[] {
  const found = new Map<string, Finding & { recipients: string[] }>();
  for (const recipient of Recipients) {
    if (!WORST_FIRST.includes(recipient.Status)) continue;
    const finding = findingOf(recipient, timeline);
    const key = `${finding.status} ${finding.sentence} ${finding.reply}`;
    const same = found.get(key);
    if (same === undefined) found.set(key, { ...finding, recipients: [recipient.Email] });
    else same.recipients.push(recipient.Email);
  }
  return [...found.values()].sort((a, b) => WORST_FIRST.indexOf(a.status) - WORST_FIRST.indexOf(b.status));
}

function findingOf(recipient: MessageRecipient, timeline: readonly TimelineEntry[]): Finding {
  const { Email, Status: status, WaitReason, NextAttemptAt, ExpiresAt, CauseID } = recipient;
  const { LastSmtpCode, LastResponse } = recipient;
  const kinds = TOLD_BY[status] ?? [];
  const told = timeline.findLast((one) => one.Recipient === Email && kinds.includes(one.Event));
  const wait = waitText(WaitReason);
  const waits = status === 'Queued' || status === 'Held';
  // Where the timeline does not tell it. What this server decided itself has no code, and is a sentence.
  const last = told === undefined && !waits ? LastResponse : '';
  const explained = told?.Explanation || (told?.Reason === told?.Reply ? '' : (told?.Reason ?? ''));
  // What keeps it back now counts more than what was said at its last try.
  const sentence =
    waits || (status === 'Deferred' && explained === '')
      ? wait
      : explained || (LastSmtpCode > 0 ? '' : withoutNoCode(last));
  const said = told?.Reply || (LastSmtpCode > 0 ? last : '');
  return {
    status,
    recipients: [Email],
    sentence,
    reply: isOwnWord(said) ? '' : said,
    host: told?.RemoteMta ?? '',
    nextAttemptAt: NextAttemptAt,
    expiresAt: ExpiresAt,
    causeId: CauseID,
    heldBy: status !== 'Held' ? null : isDomainReason(WaitReason) ? 'domain' : 'hold',
  };
}

/** Why it waits, without the word that says what kind of reason it is; '' where that is all. */
export function waitText(reason: string): string {
  if (reason === DEFERRED || reason === SCHEDULED) return '';
  const text = dashboardSentence(reason);
  // A host's name stays as it is written.
  if (/^[^ ]*\./.test(text)) return text;
  return capital(text);
}

/** A verdict of this server has code 0: nobody said it. */
export function isOwnWord(reply: string): boolean {
  return reply.startsWith('0 ');
}
