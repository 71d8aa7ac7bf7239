/**
 * The kinds of events and their three names: the stored number, the name in `GET /events` and payloads, and the token
 * that a webhook subscribes with. Everything else derives from this table.
 */

export type LogLevel = 'Info' | 'Warn' | 'Error';

export interface EventKindFacts {
  /** Number the kind is stored as; never reused. */
  id: number;
  /** `type` of the webhook payload; null: not sent to webhooks (only a timeline entry). */
  payloadType: string | null;
  /** Token that a webhook stores and returns; null: cannot be subscribed to separately. */
  token: string | null;
  /** Other spellings accepted when a webhook is created, in addition to the token and the payload type. */
  aliases: readonly string[];
  logLevel: LogLevel;
  meaning: string;
}

export const EVENT_KINDS = {
  accepted: ofMail('accepted', 1, 'accept', 'Info', 'the recipient is stored and will be tried'),
  scheduled: ofMail('scheduled', 2, 'schedule', 'Info', 'stored for a later time'),
  delivered: ofMail('delivered', 3, 'delivery', 'Info', 'the next server took responsibility'),
  deferred: ofMail('deferred', 4, 'delay', 'Warn', 'not now; it will be tried again'),
  bounced: ofMail('bounced', 5, 'bounce', 'Error', 'the remote refused it for good'),
  failed: ofMail(
    'failed',
    6,
    'failure',
    'Error',
    'given up: its maximum age was reached, or it could not be sent',
  ),
  suppressed: ofMail('suppressed', 7, 'suppression', 'Info', 'not sent: on the suppression list'),
  rejected: ofMail('rejected', 8, 'rejection', 'Error', 'refused by local policy'),
  canceled: ofMail('canceled', 9, 'cancel', 'Info', 'stopped before it was sent'),
  requeued: ofMail('requeued', 10, 'requeue', 'Info', 'queued again by request'),
  opened: ofMail('opened', 11, 'open', 'Info', 'the tracking image was fetched'),
  clicked: ofMail('clicked', 12, 'click', 'Info', 'a tracked link was followed'),
  complained: ofMail('complained', 13, 'complaint', 'Error', 'reported as spam', 'spam'),
  unsubscribed: ofMail('unsubscribed', 14, 'unsubscribe', 'Info', 'the reader unsubscribed'),
  'domain.verified': told('domain.verified', 15, 'domain', 'Info', 'the domain passed its DNS check'),
  'domain.failing': told(
    'domain.failing',
    16,
    'domain',
    'Error',
    'the domain no longer passes its DNS check',
  ),
  'webhook.disabled': told('webhook.disabled', 17, 'system', 'Error', 'a webhook was disabled'),
  'operator.alert': told(
    'operator.alert',
    48,
    'operator',
    'Error',
    'something about the server needs the operator, or that is over',
  ),
  auto_reply: inTimeline(18, 'Info', 'an automatic reply came back'),
  held: inTimeline(19, 'Warn', 'waits for a reason on this server'),
  released: inTimeline(20, 'Info', 'no longer waits for a reason on this server'),
  late_outcome: inTimeline(21, 'Warn', 'an outcome arrived after the lease was lost'),
  suppression_added: inTimeline(22, 'Info', 'put on the suppression list'),
  complaint_withdrawn: inTimeline(40, 'Info', 'a complaint was taken back'),
  return_noted: inTimeline(41, 'Info', 'returned mail without an effect'),
  'domain.warned': told(
    'domain.warned',
    42,
    'domain',
    'Warn',
    'many of the domain’s last recipients bounced or complained',
  ),
  'domain.held': told(
    'domain.held',
    43,
    'domain',
    'Error',
    'the domain’s bulk mail waits: too many bounced or complained',
  ),
  'domain.released': told('domain.released', 44, 'domain', 'Info', 'the domain’s bulk mail goes on'),
  path_blocked: inTimeline(45, 'Warn', 'the path to the recipient’s server was closed for a time'),
  path_unblocked: inTimeline(46, 'Info', 'the path to the recipient’s server is open again'),
  suppression_removed: inTimeline(47, 'Info', 'removed from the suppression list'),
};

export type EventKind = keyof typeof EVENT_KINDS;

/** About a recipient of a message: the kind itself is one more spelling. */
function ofMail(
  kind: string,
  id: number,
  token: string,
  logLevel: LogLevel,
  meaning: string,
  ...others: readonly string[]
): EventKindFacts {
  return { id, payloadType: `email.${kind}`, token, aliases: [kind, ...others], logLevel, meaning };
}

/** About something else that webhooks are told of. */
function told(kind: string, id: number, token: string, logLevel: LogLevel, meaning: string): EventKindFacts {
  return { id, payloadType: kind, token, aliases: [], logLevel, meaning };
}

/** Seen in timelines only. */
function inTimeline(id: number, logLevel: LogLevel, meaning: string): EventKindFacts {
  return { id, payloadType: null, token: null, aliases: [], logLevel, meaning };
}

const entries = Object.entries(EVENT_KINDS) as [EventKind, EventKindFacts][];
/** Kinds that concern a recipient of a message, in the order of the table. */
export const MAIL_KINDS: readonly EventKind[] = entries.flatMap(([kind, { payloadType }]) =>
  payloadType?.startsWith('email.') ? kind : [],
);
const byId = new Map(entries.map(([kind, facts]) => [facts.id, kind]));
const tokens = new Map<string, string>([
  ['all', 'all'],
  ['*', 'all'],
]);
for (const [, facts] of entries) {
  if (facts.token === null) continue;
  for (const word of [facts.token, facts.payloadType, ...facts.aliases]) {
    if (word !== null) tokens.set(word, facts.token);
  }
}

/** The kind stored under `id`, or undefined for a number no kind ever had. */
export function eventKindOf(id: number): EventKind | undefined {
  return byId.get(id);
}

/** The webhook token that `word` (any case, any accepted spelling) stands for, or null. */
export function webhookToken(word: string): string | null {
  return tokens.get(word.trim().toLowerCase()) ?? null;
}

/** Every token a webhook can be stored with. */
export const WEBHOOK_TOKENS: readonly string[] = [...new Set(tokens.values())];

/**
 * The tokens that `words` stand for, each once and in a fixed order, so that equal lists are equal texts; `all`
 * includes the others. null if a word is unknown or there is none.
 */
export function webhookTokens(words: readonly string[]): readonly string[] | null {
  const found = words.map(webhookToken);
  if (found.length === 0 || found.includes(null)) return null;
  return found.includes('all') ? ['all'] : WEBHOOK_TOKENS.filter((token) => found.includes(token));
}
