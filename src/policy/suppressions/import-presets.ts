/**
 * The export formats of other services for suppressed addresses, and their words for the reasons. Taken from their
 * documentation (the names of their API if the CSV is not documented). A file is recognised by columns that only one
 * export has; if several formats look alike, the preset must be given.
 */
import type { SuppressionReason } from '../../model/suppression.ts';

export const FIELDS = ['Email', 'Reason', 'Note', 'ExpiresAt'] as const;
export type Field = (typeof FIELDS)[number];

export interface Preset {
  /** Whose export it is, for people. */
  of: string;
  /** Columns in the form of `plainName` that together say what the file is; none = it has to be named. */
  known?: readonly string[];
  /** Columns for fields that their names alone would not be taken for. */
  columns?: Readonly<Partial<Record<Field, string>>>;
  /** The reason of every row, where the file as a whole has one. */
  reason?: SuppressionReason;
}

/** In the order in which a file is compared with them. */
export const PRESETS: Readonly<Record<string, Preset>> = {
  postmark: {
    of: 'Postmark',
    known: ['emailaddress', 'suppressionreason', 'origin'],
    columns: { Reason: 'suppressionreason' },
  },
  ses: { of: 'Amazon SES', known: ['emailaddress', 'reason', 'lastupdatetime'] },
  'mailgun-bounces': {
    of: 'Mailgun, bounces',
    known: ['address', 'code', 'error'],
    columns: { Note: 'error' },
    reason: 'Bounce',
  },
  'mailgun-unsubscribes': { of: 'Mailgun, unsubscribes', known: ['address', 'tags'], reason: 'Unsubscribe' },
  'mailgun-complaints': { of: 'Mailgun, complaints', reason: 'Complaint' },
  'sendgrid-bounces': {
    of: 'SendGrid, bounces',
    known: ['email', 'status', 'reason', 'created'],
    columns: { Note: 'reason' },
    reason: 'Bounce',
  },
  'sendgrid-spam-reports': {
    of: 'SendGrid, spam reports',
    known: ['email', 'ip', 'created'],
    reason: 'Complaint',
  },
  'sendgrid-invalid': {
    of: 'SendGrid, invalid addresses',
    known: ['email', 'reason', 'created'],
    columns: { Note: 'reason' },
    reason: 'Bounce',
  },
  'sendgrid-unsubscribes': { of: 'SendGrid, unsubscribes', reason: 'Unsubscribe' },
  'mailchimp-cleaned': { of: 'Mailchimp, cleaned', known: ['emailaddress', 'cleantime'], reason: 'Bounce' },
  'mailchimp-unsubscribed': {
    of: 'Mailchimp, unsubscribed',
    known: ['emailaddress', 'unsubtime'],
    columns: { Note: 'unsubreason' },
    reason: 'Unsubscribe',
  },
  mandrill: {
    of: 'Mandrill',
    known: ['email', 'reason', 'detail', 'expiresat'],
    columns: { Note: 'detail' },
  },
  sparkpost: {
    of: 'SparkPost',
    known: ['recipient', 'source', 'description'],
    columns: { Reason: 'source', Note: 'description' },
  },
  brevo: {
    of: 'Brevo',
    known: ['email', 'reasoncode', 'blockedat'],
    columns: { Reason: 'reasoncode', Note: 'reasonmessage' },
  },
  resend: { of: 'Resend', known: ['email', 'reason', 'createdat', 'id'] },
};

/** Names that a field goes by where no preset says otherwise. */
export const ALIASES: Readonly<Record<string, Field>> = {
  email: 'Email',
  emailaddress: 'Email',
  mail: 'Email',
  address: 'Email',
  recipient: 'Email',
  reason: 'Reason',
  suppressionreason: 'Reason',
  note: 'Note',
  comment: 'Note',
  expiresat: 'ExpiresAt',
};

/** Columns that are left out without a word: when, by whom, of what. */
export const LEFT_OUT: ReadonlySet<string> = new Set([
  ...['created', 'createdat', 'added', 'addedat', 'blockedat', 'updated', 'updatedat', 'lastupdatetime'],
  ...['lasteventat', 'timestamp', 'date', 'id', 'ip', 'code', 'status', 'origin', 'tags', 'sender', 'type'],
  ...[
    'subaccount',
    'subaccountid',
    'senderemail',
    'transactional',
    'nontransactional',
    'expired',
    'messageid',
  ],
  // Of our own export.
  ...['domain', 'reply', 'rule'],
]);

const WORDS: Readonly<Record<SuppressionReason, string>> = {
  Bounce:
    'bounce bounced bounces hard hardbounce hardbounced hardbounces permanent bouncerule invalid invalidemail cleaned undeliverable',
  Inactive: 'inactive',
  SoftBounces: 'soft softbounce softbounced softbounces transient',
  Complaint:
    'complaint complained complaints spam spamcomplaint spamreport spamreported abuse contactflaggedasspam feedbackloop',
  Unsubscribe:
    'unsubscribe unsubscribed unsubscribes unsub optout optedout listunsubscribe linkunsubscribe unsubscribelink unsubscribedviaemail unsubscribedviaapi unsubscribedviama',
  Manual:
    'manual manuallyadded manualsuppression manualblock custom admin adminblocked blocklist blocklisted blacklist blacklisted compliance',
};
const REASONS = new Map(
  Object.entries(WORDS).flatMap(([reason, words]) =>
    words.split(' ').map((word) => [word, reason as SuppressionReason] as const),
  ),
);

/** A column's or a reason's name without case, spaces and marks. */
export function plainName(text: string): string {
  return text.toLowerCase().replace(/[^a-z0-9]/g, '');
}

/** What another service's word means here; null = nobody's word. */
export function reasonOf(word: string): SuppressionReason | null {
  return REASONS.get(plainName(word)) ?? null;
}
