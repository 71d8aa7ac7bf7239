/**
 * One vocabulary for why a delivery did not succeed, as data (delivery.md §7.2): what each category is about, what is
 * done on a temporary and on a permanent reply, whether it may ever suppress an address, and what it means in plain
 * words. The classifier, the settlement of attempts, the timeline and `postrider explain` all read this table.
 */
import type { BounceScope } from '../../../model/bounce.ts';

/**
 * What is done with the recipient:
 * `retry` tried again, one attempt is charged · `bounce` refused for good · `path` the path is blocked, nothing is
 * charged · `defer` a permanent reply about our address: the path is blocked, the mail is kept for `giveUp.afterMs`.
 */
export type Action = 'retry' | 'bounce' | 'path' | 'defer';

/** `hard` without an end, `inactive` 90 days, `soft` counted only (delivery.md §12). */
export type Suppress = 'no' | 'hard' | 'inactive' | 'soft';

/** Whom the trouble lies with. */
export type Fault = 'recipient' | 'receiver' | 'sender' | 'operator' | 'content' | 'nobody';

/** Given up once both are reached: so many finished attempts, and so long since it was first deferred. */
export interface GiveUp {
  tries: number;
  afterMs: number;
}

export interface Handling {
  action: Action;
  /** Wait prescribed, ms; null = the lane's schedule, or the path's own growing waits. */
  waitMs: number | null;
  giveUp: GiveUp | null;
}

export interface CategoryFacts {
  scope: BounceScope;
  /** On 4xx. */
  temporary: Handling;
  /** On 5xx. */
  permanent: Handling;
  /** On 5xx of high confidence about the recipient; everything else never suppresses. */
  suppress: Suppress;
  /** On 4xx of high confidence. */
  suppressTemporary: Suppress;
  /** A refusal that may well change: `Transient` in the bounce object. */
  soft: boolean;
  fault: Fault;
  /** What it means: a sentence. */
  means: string;
  /** Who can do what about it: a sentence. */
  fix: string;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DEFER_LIMIT_MS = 4 * HOUR;

const BOUNCE: Handling = { action: 'bounce', waitMs: null, giveUp: null };
const RETRY: Handling = { action: 'retry', waitMs: null, giveUp: null };
const PATH: Handling = { action: 'path', waitMs: null, giveUp: null };

function retry(waitMs: number | null, tries: number, afterMs: number): Handling {
  return { action: 'retry', waitMs, giveUp: { tries, afterMs } };
}
function path(waitMs: number): Handling {
  return { action: 'path', waitMs, giveUp: null };
}
function defer(waitMs: number): Handling {
  return { action: 'defer', waitMs, giveUp: { tries: 0, afterMs: DEFER_LIMIT_MS } };
}

type Row = Pick<CategoryFacts, 'scope' | 'temporary' | 'permanent' | 'fault' | 'means' | 'fix'> &
  Partial<Pick<CategoryFacts, 'suppress' | 'suppressTemporary' | 'soft'>>;

const TABLE = {
  // ── about the recipient ───────────────────────────────────────────────────────────────────────────────────
  recipient_invalid: {
    scope: 'recipient',
    // A directory that is down answers 450 for everybody: three tries are not enough, some time has to pass too.
    temporary: retry(null, 3, 2 * HOUR),
    permanent: BOUNCE,
    suppress: 'hard',
    fault: 'recipient',
    means: 'The mailbox does not exist at the recipient’s mail server.',
    fix: 'Check the address for typing mistakes, or take it off your lists.',
  },
  mailbox_inactive: {
    scope: 'recipient',
    temporary: RETRY,
    permanent: BOUNCE,
    suppress: 'inactive',
    suppressTemporary: 'soft',
    fault: 'recipient',
    means: 'The mailbox exists but is switched off, closed or abandoned.',
    fix: 'Only the recipient or their provider can open it again; use another address.',
  },
  mailbox_full: {
    scope: 'recipient',
    temporary: retry(HOUR, 0, 24 * HOUR),
    permanent: BOUNCE,
    suppress: 'soft',
    suppressTemporary: 'soft',
    soft: true,
    fault: 'recipient',
    means: 'The recipient’s mailbox has no room left.',
    fix: 'The recipient has to make room; send it again later.',
  },
  recipient_rate_limited: {
    scope: 'recipient',
    temporary: { action: 'retry', waitMs: 30 * MINUTE, giveUp: null },
    permanent: BOUNCE,
    soft: true,
    fault: 'recipient',
    means: 'This one mailbox is receiving mail faster than its provider allows.',
    fix: 'Nothing needs to be done; send to this address less often.',
  },
  recipient_policy: {
    scope: 'recipient',
    temporary: RETRY,
    permanent: BOUNCE,
    fault: 'receiver',
    means: 'The recipient or their organisation does not take mail from this sender.',
    fix: 'Ask the recipient or their administrator to allow this sender.',
  },
  domain_invalid: {
    scope: 'domain',
    temporary: RETRY,
    permanent: BOUNCE,
    fault: 'recipient',
    means: 'The recipient’s domain does not exist or takes no mail.',
    fix: 'Check the part of the address after the @.',
  },
  greylisted: {
    scope: 'recipient',
    temporary: { action: 'retry', waitMs: 5 * MINUTE, giveUp: null },
    permanent: { action: 'retry', waitMs: 5 * MINUTE, giveUp: null },
    fault: 'nobody',
    means: 'The server asks every sender it does not know to come back a little later (greylisting).',
    fix: 'Nothing needs to be done; it is taken at one of the next attempts.',
  },

  // ── about the path: our address, our rate, the connection ─────────────────────────────────────────────────
  rate_limited: {
    scope: 'path',
    temporary: path(5 * MINUTE),
    permanent: path(15 * MINUTE),
    fault: 'operator',
    means: 'The receiver is getting more mail from this server than it wants at the moment.',
    fix: 'Mail to this receiver slows down by itself; if it stays, the operator spreads it over more time or sources.',
  },
  connection_limited: {
    scope: 'path',
    temporary: path(MINUTE),
    permanent: path(5 * MINUTE),
    fault: 'operator',
    means: 'The receiver allows fewer connections at a time, or fewer messages on one, than were used.',
    fix: 'Nothing needs to be done; fewer are used. If it stays, the operator lowers the limit for this receiver.',
  },
  ip_reputation: {
    scope: 'path',
    temporary: path(30 * MINUTE),
    permanent: defer(30 * MINUTE),
    soft: true,
    fault: 'operator',
    means: 'The receiver distrusts the address of this server because of the mail it has seen from it.',
    fix: 'The operator checks what was sent, lets volume grow slowly and asks the receiver’s postmaster for a review.',
  },
  ip_blocklisted: {
    scope: 'path',
    temporary: path(2 * HOUR),
    permanent: defer(2 * HOUR),
    soft: true,
    fault: 'operator',
    means: 'The address of this server is on a blocklist that the receiver uses.',
    fix: 'The operator finds the cause, then asks for removal at the list named in the reply.',
  },
  ptr_missing: {
    scope: 'path',
    temporary: path(30 * MINUTE),
    permanent: defer(30 * MINUTE),
    soft: true,
    fault: 'operator',
    means: 'The name of this server does not fit its address (reverse DNS or the name given in EHLO).',
    fix: 'The operator publishes a PTR record for the address whose name leads back to it, and uses it in EHLO.',
  },
  tls_required: {
    scope: 'path',
    temporary: path(10 * MINUTE),
    permanent: path(10 * MINUTE),
    fault: 'operator',
    means: 'The receiver takes mail over encrypted connections only.',
    fix: 'The operator checks that TLS to this receiver works from here.',
  },
  tls_failed: {
    scope: 'path',
    temporary: PATH,
    permanent: PATH,
    fault: 'receiver',
    means: 'No encrypted connection could be made that meets the policy for this receiver.',
    fix: 'The receiver’s administrator mends the certificate or TLS settings; the operator may relax the policy.',
  },
  relay_login_failed: {
    scope: 'path',
    temporary: PATH,
    permanent: PATH,
    fault: 'operator',
    means: 'The relay refused the user name or password of this server.',
    fix: 'The operator corrects the credentials of the route.',
  },
  dns_failure: {
    scope: 'path',
    temporary: PATH,
    permanent: PATH,
    fault: 'nobody',
    means: 'DNS gave no usable answer about the recipient’s domain.',
    fix: 'If it stays, the operator checks the resolver, and the domain’s owner its name servers.',
  },
  unreachable: {
    scope: 'path',
    temporary: PATH,
    permanent: PATH,
    fault: 'receiver',
    means: 'The receiver’s mail server could not be reached.',
    fix: 'If it concerns every receiver, the operator checks that port 25 is open outwards.',
  },
  timeout: {
    scope: 'path',
    temporary: PATH,
    permanent: PATH,
    fault: 'receiver',
    means: 'The receiver’s mail server did not answer in time.',
    fix: 'Nothing needs to be done unless it stays.',
  },
  conn_lost: {
    scope: 'path',
    temporary: PATH,
    permanent: PATH,
    fault: 'receiver',
    means: 'The connection broke before the message was taken.',
    fix: 'Nothing needs to be done unless it stays.',
  },
  service_unavailable: {
    scope: 'path',
    // Within a transaction only 421 stops the path: one message must not do that alone (delivery.md D4).
    temporary: RETRY,
    permanent: BOUNCE,
    fault: 'receiver',
    means: 'The receiver’s mail server is busy, broken or being maintained.',
    fix: 'Nothing needs to be done unless it stays.',
  },

  // ── about the sender domain ───────────────────────────────────────────────────────────────────────────────
  auth_failed: {
    scope: 'sender_domain',
    temporary: RETRY,
    permanent: BOUNCE,
    fault: 'sender',
    means: 'The receiver could not verify the sender domain (SPF, DKIM or DMARC).',
    fix: 'The owner of the sender domain corrects its DNS records: `postrider doctor <domain>` says which.',
  },
  sender_rejected: {
    scope: 'sender_domain',
    temporary: RETRY,
    permanent: BOUNCE,
    fault: 'sender',
    means: 'The receiver does not accept the sender address or its domain.',
    fix: 'The owner of the sender domain checks that it exists, has an MX and may be answered.',
  },

  // ── about the message ─────────────────────────────────────────────────────────────────────────────────────
  url_or_domain_blocklisted: {
    scope: 'message',
    temporary: { action: 'retry', waitMs: HOUR, giveUp: null },
    permanent: BOUNCE,
    fault: 'content',
    means: 'A link or a domain in the message is on a blocklist.',
    fix: 'The sender removes the link, or gets the domain off the list named in the reply.',
  },
  spam_content: {
    scope: 'message',
    temporary: retry(HOUR, 3, 2 * HOUR),
    permanent: BOUNCE,
    fault: 'content',
    means: 'The receiver takes this message for spam.',
    fix: 'The sender changes the content and sends only to people who asked for it.',
  },
  virus: {
    scope: 'message',
    temporary: retry(null, 3, HOUR),
    permanent: BOUNCE,
    fault: 'content',
    means: 'The receiver’s scanner found malware in the message.',
    fix: 'The sender checks the attachments and the computer that made them.',
  },
  attachment_prohibited: {
    scope: 'message',
    temporary: retry(null, 3, HOUR),
    permanent: BOUNCE,
    fault: 'content',
    means: 'The receiver does not take this kind of attachment.',
    fix: 'The sender uses another format, or a link instead of the attachment.',
  },
  message_too_large: {
    scope: 'message',
    temporary: retry(null, 3, HOUR),
    permanent: BOUNCE,
    fault: 'content',
    means: 'The message is larger than the receiver takes.',
    fix: 'The sender makes the attachments smaller, or links to them.',
  },
  too_many_recipients: {
    scope: 'message',
    temporary: RETRY,
    permanent: RETRY,
    fault: 'nobody',
    means: 'The receiver wants fewer recipients in one transaction.',
    fix: 'Nothing needs to be done; the rest goes in further transactions.',
  },
  protocol_error: {
    scope: 'message',
    temporary: retry(null, 3, 0),
    permanent: BOUNCE,
    fault: 'receiver',
    means: 'The two mail servers did not understand each other.',
    fix: 'The operator looks at the SMTP conversation in the message’s timeline.',
  },
  smtputf8_unsupported: {
    scope: 'message',
    temporary: RETRY,
    permanent: BOUNCE,
    fault: 'receiver',
    means: 'The receiver does not support addresses with letters beyond ASCII.',
    fix: 'Use an ASCII address of the recipient.',
  },
  policy_other: {
    scope: 'message',
    temporary: RETRY,
    permanent: BOUNCE,
    fault: 'receiver',
    means: 'A rule of the receiver refused the message without saying which.',
    fix: 'Ask the receiver’s postmaster, and quote the reply.',
  },
  unknown_soft: {
    scope: 'message',
    temporary: RETRY,
    permanent: RETRY,
    fault: 'receiver',
    means: 'The receiver put the message off without a reason that is known here.',
    fix: 'Nothing needs to be done unless it stays; then ask the receiver’s postmaster.',
  },
  unknown_hard: {
    scope: 'message',
    temporary: RETRY,
    permanent: BOUNCE,
    fault: 'receiver',
    means: 'The receiver refused the message without a reason that is known here.',
    fix: 'Ask the receiver’s postmaster, and quote the reply.',
  },

  // ── about the way ─────────────────────────────────────────────────────────────────────────────────────────
  relay_denied: {
    scope: 'domain',
    temporary: retry(null, 0, 6 * HOUR),
    permanent: BOUNCE,
    fault: 'receiver',
    means: 'The server that DNS names for the domain does not take mail for it.',
    fix: 'The owner of the recipient’s domain corrects its MX records or its server.',
  },
  routing_loop: {
    scope: 'domain',
    temporary: retry(null, 0, 6 * HOUR),
    permanent: BOUNCE,
    fault: 'receiver',
    means: 'Mail for this recipient runs in a circle or leads nowhere.',
    fix: 'The owner of the recipient’s domain corrects its MX records or forwarding.',
  },

  // ── our own ends ──────────────────────────────────────────────────────────────────────────────────────────
  expired: {
    scope: 'message',
    temporary: RETRY,
    permanent: BOUNCE,
    soft: true,
    fault: 'nobody',
    means: 'The time for this message was over before the receiver took it.',
    fix: 'The last reply says what stood in the way; send it again once that is mended.',
  },
  outcome_unknown: {
    scope: 'path',
    temporary: RETRY,
    permanent: RETRY,
    fault: 'nobody',
    means: 'The connection ended after the whole message was sent and before the receiver confirmed it.',
    fix: 'Nothing needs to be done; a second copy may arrive.',
  },
  signing_failed: {
    scope: 'sender_domain',
    temporary: RETRY,
    permanent: RETRY,
    fault: 'operator',
    means: 'The message could not be signed, and nothing is sent unsigned.',
    fix: 'The operator looks at the DKIM keys of the sender domain.',
  },
  domain_not_verified: {
    scope: 'sender_domain',
    temporary: RETRY,
    permanent: RETRY,
    fault: 'sender',
    means: 'The sender domain is not verified at the moment.',
    fix: 'The owner of the sender domain publishes its DNS records: `postrider domain verify <domain>`.',
  },
  content_gone: {
    scope: 'message',
    temporary: RETRY,
    permanent: BOUNCE,
    fault: 'operator',
    means: 'The stored message could not be found any more.',
    fix: 'The operator looks at the store; the client sends the message again.',
  },
} as const satisfies Record<string, Row>;

export type Category = keyof typeof TABLE;

/** Every category; `Class` in events is its PascalCase. */
export const CATEGORIES = Object.keys(TABLE) as readonly Category[];

/** Only these may ever suppress an address, and only on replies of high confidence. */
export const SUPPRESSING: readonly Category[] = ['recipient_invalid', 'mailbox_inactive', 'mailbox_full'];

/** The row of `category`, defaults filled in. */
export function categoryFacts(category: Category): CategoryFacts {
  return { suppress: 'no', suppressTemporary: 'no', soft: false, ...TABLE[category] };
}

/** Whether `word` is a category. */
export function isCategory(word: string): word is Category {
  return Object.hasOwn(TABLE, word);
}

/** `mailbox_full` → `MailboxFull`. */
export function pascalCase(category: string): string {
  return category
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

const byClass = new Map(CATEGORIES.map((category) => [pascalCase(category), category]));

/** The category whose PascalCase is `word` (a bounce object's Class), or null. */
export function categoryOfClass(word: string): Category | null {
  return byClass.get(word) ?? null;
}
