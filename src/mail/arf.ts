/**
 * Feedback reports (ARF, RFC 5965), sent when a reader marked mail as spam. Takes a parsed MIME message; returns what
 * the report says and every place in it that may contain one of our tokens, most reliable first; null if it is not such
 * a report. Providers leave out recipient and sender, so addresses are never used.
 */
import { answersBySubject, isAutoReplied } from './auto-reply.ts';
import { fieldGroups, fieldValue, type ReportField, returnedFields } from './dsn.ts';
import { bodyOf, type MimePart, ownParts } from './mime-tree.ts';

export interface FeedbackReport {
  /** Lower case: `abuse`, `not-spam`, `fraud`, `auth-failure`, `virus`, `other`, … */
  type: string;
  /** The program that wrote it, '' = not named. */
  userAgent: string;
  /** Values of X-Postrider-Ref in the reported message. */
  references: readonly string[];
  /** Envelope senders named by the report and the message, without brackets. */
  returnPaths: readonly string[];
  /** List-Unsubscribe of the reported message. */
  unsubscribe: readonly string[];
  /** Message-ID of the reported message without brackets, or null. */
  messageId: string | null;
}

const REPORT_TYPE = 'message/feedback-report';
const MAX_BYTES = 64 * 1024;
/** Some programs write empty lines between the fields. */
const MAX_GROUPS = 40;
/** Limit per kind; more are an attempt to guess. */
const MAX_CANDIDATES = 4;

/** The report in `mail`, or null. */
export function readFeedbackReport(mail: MimePart): FeedbackReport | null {
  const report = [...ownParts(mail)].find(({ type: kind }) => kind === REPORT_TYPE);
  if (report === undefined) return null;
  const fields = [...fieldGroups(bodyOf(report, MAX_BYTES), MAX_GROUPS)].flat();
  // A comment may follow (RFC 5965 §3.5).
  const type = /^[a-z0-9-]{1,40}(?![^\s(;])/.exec(
    (fieldValue(fields, 'feedback-type') ?? '').toLowerCase(),
  )?.[0];
  if (type === undefined) return null;
  return {
    type,
    userAgent: (fieldValue(fields, 'user-agent') ?? '').slice(0, 100),
    ...placesIn(mail, fields),
  };
}

/**
 * A complaint that is the reported message as an attachment and nothing else, as Microsoft's Junk Mail Reporting Program
 * sends them; null if there is none. Only for addresses that complaints alone are sent to, where programs may answer too.
 */
export function readAttachedComplaint(mail: MimePart): FeedbackReport | null {
  if (answersBySubject(mail) || isAutoReplied(mail)) return null;
  if (![...ownParts(mail)].some(({ type }) => type === 'message/rfc822')) return null;
  return { type: 'abuse', userAgent: '', ...placesIn(mail, []) };
}

/** Where tokens of ours may be: in the fields of the report and of the reported message. */
function placesIn(
  mail: MimePart,
  fields: readonly ReportField[],
): Omit<FeedbackReport, 'type' | 'userAgent'> {
  const message = returnedFields(mail);
  const messageId = fieldValue(message, 'message-id');
  return {
    references: values(message, 'x-postrider-ref'),
    returnPaths: [...values(fields, 'original-mail-from'), ...values(message, 'return-path')].map(
      withoutBrackets,
    ),
    unsubscribe: values(message, 'list-unsubscribe'),
    messageId: messageId === null || messageId.length > 200 ? null : withoutBrackets(messageId),
  };
}

function values(fields: readonly ReportField[], name: string): string[] {
  return fields
    .filter((field) => field.name === name)
    .slice(0, MAX_CANDIDATES)
    .map(({ value }) => value);
}

function withoutBrackets(text: string): string {
  return text.replace(/^[<\s]{1,10}/, '').replace(/[>\s]{1,10}$/, '');
}
