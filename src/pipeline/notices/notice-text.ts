/**
 * The text of a notice, for people who wrote the message and do not run a mail server. Takes the facts to report;
 * returns the subject, the text, and the fields of each recipient in the form of RFC 3464. Replies of far ends are
 * quoted in one line each, so that they do not look like our own sentences.
 */
import { isIPv4, isIPv6 } from 'node:net';
import type { ReportAction, ReportedRecipient } from '../../mail/dsn-writer.ts';
import type { NoticeKind } from '../../model/notice.ts';
import { withoutNoCode } from '../../model/wait-reason.ts';
import type { DueNotice, DueRecipient } from '../../store/topics/notices.ts';
import { dateText } from '../compose/compose.ts';
import { categoryOfClass } from '../deliver/outcome/classifier/categories.ts';
import { outcomeSentence } from '../deliver/outcome/classifier/verdict.ts';

interface NoticeWords {
  subject: string;
  text: string;
  recipients: readonly ReportedRecipient[];
}

const MAX_QUOTE = 512;
const MAX_SUBJECT = 200;
const STATUS = /^[245]\.\d{1,3}\.\d{1,3}$/;
/** RFC 3463: delivery not authorised; the suppression list of the sender's own domain forbids it. */
const SUPPRESSED_STATUS = '5.7.1';

const SUBJECTS: Readonly<Record<NoticeKind, string>> = {
  failure: 'Undelivered mail',
  delay: 'Delayed mail',
  success: 'Mail handed on',
};

const SECTIONS: readonly (readonly [kind: NoticeKind, words: string])[] = [
  ['failure', 'It was not delivered to, and is not tried again for:'],
  ['delay', 'It is late for the following. Nothing needs to be done, it is tried again:'],
  ['success', 'The mail servers of the following took it. Whether it is read is not known:'],
];

/** `returned`: which part of the message is attached. At least one recipient. */
export function noticeWords(
  notice: DueNotice,
  options: { hostname: string; returned: 'header' | 'whole' | null },
): NoticeWords {
  const kinds = new Set(notice.recipients.map(({ kind }) => kind));
  const worst = (['failure', 'delay', 'success'] as const).find((kind) => kinds.has(kind)) ?? 'failure';
  const about = quote(notice.subject).slice(0, MAX_SUBJECT);
  const lines = [
    `This is the mail server ${options.hostname}, about your message`,
    '',
    `    ${about === '' ? '(without a subject)' : about}`,
    '',
    `which it took on ${dateText(notice.createdAt)}.`,
  ];
  for (const [kind, words] of SECTIONS) {
    const those = notice.recipients.filter((one) => one.kind === kind);
    if (those.length === 0) continue;
    lines.push('', words);
    for (const one of those) lines.push('', `    ${one.address}`, ...aboutRecipient(one));
  }
  if (notice.more > 0) {
    lines.push('', `The same goes for ${notice.more} more, who are not listed here.`);
  }
  lines.push(
    '',
    ...(options.returned === null ? [] : [`${RETURNED[options.returned]} is attached.`]),
    'This notice was written by a program; nobody reads an answer to it.',
    '',
  );
  return {
    subject: about === '' ? SUBJECTS[worst] : `${SUBJECTS[worst]}: ${about}`,
    text: lines.join('\n'),
    recipients: notice.recipients.map(reported),
  };
}

const RETURNED = { header: 'The header of your message', whole: 'Your message' } as const;

function aboutRecipient(one: DueRecipient): string[] {
  const lines: string[] = [];
  const { detail, kind } = one;
  const category = detail?.bounce === undefined ? null : categoryOfClass(detail.bounce.Class);
  if (kind !== 'success') {
    const happened = kind === 'delay' ? 'deferred' : one.state === 'failed' ? 'failed' : 'bounced';
    const sentence =
      category === null ? (detail?.reason ?? one.lastReply) : outcomeSentence(happened, category);
    if (sentence !== null) lines.push(`        ${quote(sentence)}`);
  }
  const said = replyOf(one);
  if (said !== null && kind !== 'success') {
    const host = hostOf(one);
    lines.push(`        ${host === '' ? 'Its mail server' : host} said: ${quote(said)}`);
  }
  if (kind === 'delay') lines.push(`        It is given up on ${dateText(one.expiresAt)}.`);
  return lines;
}

function reported(one: DueRecipient): ReportedRecipient {
  const action = actionOf(one);
  const said = replyOf(one);
  const reason = one.detail?.reason ?? null;
  return {
    address: one.address,
    originalRecipient: one.orcpt,
    action,
    status: statusOf(one, action),
    diagnostic:
      said !== null
        ? { type: 'smtp', text: quote(said) }
        : action === 'failed' || action === 'delayed'
          ? {
              type: 'x-postrider',
              text: quote(withoutNoCode(one.detail?.bounce?.Diagnostic ?? reason ?? one.lastReply ?? '')),
            }
          : null,
    remoteMta: mtaName(hostOf(one)),
    lastAttempt: one.state === 'suppressed' || one.state === 'failed' ? null : dateText(one.at),
    willRetryUntil: action === 'delayed' ? dateText(one.expiresAt) : null,
  };
}

/**
 * Servers after the next host are not asked to report, so a success is `relayed` (RFC 3461 §5.2.2), except in the
 * sandbox.
 */
function actionOf({ kind, route }: DueRecipient): ReportAction {
  if (kind === 'failure') return 'failed';
  if (kind === 'delay') return 'delayed';
  return route === 'sandbox' ? 'delivered' : 'relayed';
}

/** The remote's own status, if it matches what happened. */
function statusOf({ detail, state }: DueRecipient, action: ReportAction): string {
  const own = detail?.bounce?.EnhancedCode ?? '';
  const known = STATUS.test(own) ? own : null;
  switch (action) {
    case 'failed':
      if (state === 'suppressed') return SUPPRESSED_STATUS;
      return known !== null && !known.startsWith('2') ? known : '5.0.0';
    case 'delayed':
      return known?.startsWith('4') ? known : '4.0.0';
    case 'delivered':
    case 'relayed':
      return '2.0.0';
  }
}

/** The remote's reply with its code; null if there was none. */
function replyOf({ detail, kind }: DueRecipient): string | null {
  if (detail === null) return null;
  if (kind === 'success') return detail.reply ?? null;
  return detail.bounce !== undefined && detail.bounce.SmtpCode > 0 ? detail.bounce.Diagnostic : null;
}

function hostOf({ detail }: DueRecipient): string {
  return quote(detail?.bounce?.RemoteMta || detail?.remoteMta || '').slice(0, 255);
}

/** Of `mx.example.net [192.0.2.1]` the name alone: the type `dns` knows a name or a literal (RFC 3464 §2.1.2). */
function mtaName(host: string): string {
  const [name = ''] = host.split(' ');
  if (isIPv4(name)) return `[${name}]`;
  return isIPv6(name) ? `[IPv6:${name}]` : name;
}

/** One line without control characters. */
function quote(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_QUOTE);
}
