/**
 * The kinds of events and their three names: the stored number, the name in `GET /events` and payloads, and the token
 * that a webhook subscribes with. Everything else derives from this table.
 */

export type EventKind =
  | 'accepted'
  | 'scheduled'
  | 'delivered'
  | 'deferred'
  | 'bounced'
  | 'failed'
  | 'suppressed'
  | 'rejected'
  | 'canceled'
  | 'requeued'
  | 'opened'
  | 'clicked'
  | 'complained'
  | 'unsubscribed'
  | 'domain.verified'
  | 'domain.failing'
  | 'webhook.disabled'
  | 'operator.alert'
  | 'auto_reply'
  | 'held'
  | 'released'
  | 'late_outcome'
  | 'suppression_added'
  | 'complaint_withdrawn'
  | 'return_noted'
  | 'domain.warned'
  | 'domain.held'
  | 'domain.released'
  | 'path_blocked'
  | 'path_unblocked'
  | 'suppression_removed';

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

export const EVENT_KINDS: Readonly<Record<EventKind, EventKindFacts>> = {
  accepted: row(
    1,
    'email.accepted',
    'accept',
    ['accepted'],
    'Info',
    'the recipient is stored and will be tried',
  ),
  scheduled: row(2, 'email.scheduled', 'schedule', ['scheduled'], 'Info', 'stored for a later time'),
  delivered: row(
    3,
    'email.delivered',
    'delivery',
    ['delivered'],
    'Info',
    'the next server took responsibility',
  ),
  deferred: row(4, 'email.deferred', 'delay', ['deferred'], 'Warn', 'not now; it will be tried again'),
  bounced: row(5, 'email.bounced', 'bounce', ['bounced'], 'Error', 'the remote refused it for good'),
  failed: row(6, 'email.failed', 'failure', ['failed'], 'Error', 'we gave up: expired or impossible'),
  suppressed: row(
    7,
    'email.suppressed',
    'suppression',
    ['suppressed'],
    'Info',
    'not sent: on the suppression list',
  ),
  rejected: row(8, 'email.rejected', 'rejection', ['rejected'], 'Error', 'refused by local policy'),
  canceled: row(9, 'email.canceled', 'cancel', ['canceled'], 'Info', 'stopped before it was sent'),
  requeued: row(10, 'email.requeued', 'requeue', ['requeued'], 'Info', 'queued again by request'),
  opened: row(11, 'email.opened', 'open', ['opened'], 'Info', 'the tracking image was fetched'),
  clicked: row(12, 'email.clicked', 'click', ['clicked'], 'Info', 'a tracked link was followed'),
  complained: row(13, 'email.complained', 'complaint', ['complained', 'spam'], 'Error', 'reported as spam'),
  unsubscribed: row(
    14,
    'email.unsubscribed',
    'unsubscribe',
    ['unsubscribed'],
    'Info',
    'the reader unsubscribed',
  ),
  'domain.verified': row(15, 'domain.verified', 'domain', [], 'Info', 'the domain passed its DNS check'),
  'domain.failing': row(
    16,
    'domain.failing',
    'domain',
    [],
    'Error',
    'the domain no longer passes its DNS check',
  ),
  'webhook.disabled': row(17, 'webhook.disabled', 'system', [], 'Error', 'a webhook was disabled'),
  'operator.alert': row(
    48,
    'operator.alert',
    'operator',
    [],
    'Error',
    'something about the server needs the operator, or that is over',
  ),
  auto_reply: row(18, null, null, [], 'Info', 'an automatic reply came back'),
  held: row(19, null, null, [], 'Warn', 'waits for a reason on this server'),
  released: row(20, null, null, [], 'Info', 'no longer waits for a reason on this server'),
  late_outcome: row(21, null, null, [], 'Warn', 'an outcome arrived after the lease was lost'),
  suppression_added: row(22, null, null, [], 'Info', 'put on the suppression list'),
  complaint_withdrawn: row(40, null, null, [], 'Info', 'a complaint was taken back'),
  return_noted: row(41, null, null, [], 'Info', 'returned mail without an effect'),
  'domain.warned': row(
    42,
    'domain.warned',
    'domain',
    [],
    'Warn',
    'many of the domain’s last recipients bounced or complained',
  ),
  'domain.held': row(
    43,
    'domain.held',
    'domain',
    [],
    'Error',
    'the domain’s bulk mail waits: too many bounced or complained',
  ),
  'domain.released': row(44, 'domain.released', 'domain', [], 'Info', 'the domain’s bulk mail goes on'),
  path_blocked: row(45, null, null, [], 'Warn', 'the path to the recipient’s server was closed for a time'),
  path_unblocked: row(46, null, null, [], 'Info', 'the path to the recipient’s server is open again'),
  suppression_removed: row(47, null, null, [], 'Info', 'removed from the suppression list'),
};

function row(
  id: number,
  payloadType: string | null,
  token: string | null,
  aliases: readonly string[],
  logLevel: LogLevel,
  meaning: string,
): EventKindFacts {
  return { id, payloadType, token, aliases, logLevel, meaning };
}

const entries = Object.entries(EVENT_KINDS) as [EventKind, EventKindFacts][];
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
