/**
 * One message as text for a terminal: its recipients with the last reply and the next attempt, and the timeline with
 * the SMTP conversations. Takes answers of the API; text from outside is made safe for the terminal.
 */
import type { MessageWithContents, TimelineEntry } from '../client/api-types.ts';
import { listWord, wordsText } from '../model/status.ts';
import { DEFERRED, isDomainReason, withoutNoCode } from '../model/wait-reason.ts';
import { type Screen, styled, wrapped } from './terminal.ts';
import { waitText } from './wait-text.ts';

const MAX_ADDRESS_COLUMN = 40;

/** What a good status does not say, once for all recipients. */
const REMARKS: { readonly [Word in ReturnType<typeof listWord>]?: string } = {
  Delivered:
    'Delivered: the next server accepted it. If it is neither in the mailbox nor in the spam folder, ask the administrator of that server, with its reply and the time.',
  Captured: 'Captured: this server kept it and sent nothing. See: `postrider sandbox list`',
};

export type ShownMessage = Pick<
  MessageWithContents,
  'MessageID' | 'Subject' | 'RecipientStatuses' | 'Size' | 'CreatedAt' | 'From' | 'Recipients'
>;

/**
 * Recipients and timeline without repetitions: if the reply is also the reason, only the reply is shown. `now`: epoch
 * milliseconds; what is due by then has no time of its own.
 */
export function messageText(
  stdout: Screen,
  message: ShownMessage,
  events: readonly TimelineEntry[],
  now: number,
): string {
  const head = [
    `${styled(stdout, 'bold', message.Subject)}`,
    `  ${message.MessageID}  ${wordsText(message.RecipientStatuses)}  ${message.Size} octets  accepted ${message.CreatedAt}`,
    `  From ${message.From.Email}`,
  ];
  const widest = Math.max(0, ...message.Recipients.map((r) => r.Email.length));
  const recipients = message.Recipients.flatMap((r) => {
    const address = r.Email.padEnd(Math.min(widest, MAX_ADDRESS_COLUMN));
    const first = `  ${r.Type.padEnd(3)} ${address}  ${styled(stdout, 'bold', listWord(r))}`;
    // The reply to an earlier attempt is not shown after a success.
    const said = r.Status === 'Delivered' && r.LastSmtpCode >= 400 ? '' : withoutNoCode(r.LastResponse);
    const waits =
      r.WaitReason === DEFERRED || (r.LastResponse !== '' && r.WaitReason.includes(r.LastResponse))
        ? ''
        : waitText(r.WaitReason);
    const limit = `given up ${r.ExpiresAt}`;
    // Whoever ends a hold decides when it is tried next.
    const next =
      r.Status === 'Held'
        ? `${isDomainReason(r.WaitReason) ? '' : '`postrider queue holds` says how to release it, '}${limit}`
        : r.NextAttemptAt === null
          ? ''
          : Date.parse(r.NextAttemptAt) <= now
            ? `tried as soon as it can be, ${limit}`
            : `next try ${r.NextAttemptAt}, ${limit}`;
    return [first, ...[said, waits, next].filter((text) => text !== '').map((text) => detail(6, text))];
  });
  const words = new Set(message.Recipients.map(listWord));
  const remarks = [...words].flatMap((word) => REMARKS[word] ?? []).map((text) => detail(2, text));
  const timeline = events.flatMap((event) => {
    const lines = [`  ${event.At}  ${event.Event.padEnd(12)}  ${event.Recipient ?? ''}`.trimEnd()];
    const add = (label: string, value: string): void => {
      if (value !== '') lines.push(`      ${label}: ${detail(8 + label.length, value).trimStart()}`);
    };
    const ours = withoutNoCode(event.Reply) !== event.Reply;
    add('why', event.Reason === event.Reply ? '' : event.Reason);
    add('server', event.RemoteMta);
    add('from', event.SourceAddress);
    add('TLS', event.Tls);
    add('reply', ours ? '' : event.Reply);
    add('meaning', event.Explanation);
    if (event.PossibleDuplicate)
      add('note', 'it may have arrived twice: an attempt before this one ended without an answer');
    add('next try', event.NextAttemptAt ?? '');
    for (const line of (event.Conversation ?? '').split('\n')) if (line !== '') lines.push(`        ${line}`);
    return lines;
  });
  return [...head, '', 'Recipients', ...recipients, ...remarks, '', 'Timeline', ...timeline].join('\n');

  function detail(indent: number, text: string): string {
    return `${' '.repeat(indent)}${wrapped(stdout, indent, text)}`;
  }
}
