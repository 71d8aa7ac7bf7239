/**
 * The table of categories: the scope of each, what follows a temporary and a permanent reply, whether it may suppress
 * an address, and its explanation. Read through categories.ts.
 */
import { BOUNCE, type CategoryFacts, defer, HOUR, MINUTE, PATH, path, RETRY, retry } from './handling.ts';

type Row = Pick<CategoryFacts, 'scope' | 'temporary' | 'permanent' | 'fault' | 'means' | 'fix'> &
  Partial<
    Pick<CategoryFacts, 'fixFinal' | 'suppress' | 'suppressTemporary' | 'soft' | 'meansTemporary' | 'next'>
  >;

/** The receiver does not want this server's address: the path waits so long, and its mail is kept for four hours. */
const ourAddress = (waitMs: number) =>
  ({
    scope: 'path',
    temporary: path(waitMs),
    permanent: defer(waitMs),
    soft: true,
    fault: 'operator',
  }) as const;
/** There is no connection as it is needed: the path waits. */
const PATH_WAITS = { scope: 'path', temporary: PATH, permanent: PATH } as const;
const MESSAGE_REFUSED = {
  scope: 'message',
  temporary: RETRY,
  permanent: BOUNCE,
  fault: 'receiver',
} as const;
const CONTENT_REFUSED = {
  scope: 'message',
  temporary: retry(null, 3, HOUR),
  permanent: BOUNCE,
  fault: 'content',
} as const;

/** Every category with what differs from the defaults; `categoryFacts` fills in the rest. */
export const TABLE = {
  // ── about the recipient ───────────────────────────────────────────────────────────────────────────────────
  recipient_invalid: {
    scope: 'recipient',
    // While a directory or the server behind a gateway is down, every recipient is answered with 450 (RFC 5321 §4.5.4.1).
    temporary: retry(null, 3, 24 * HOUR),
    permanent: BOUNCE,
    suppress: 'hard',
    fault: 'recipient',
    means: 'The mailbox does not exist at the recipient’s mail server.',
    meansTemporary: 'The receiver does not know this mailbox, or has not found out yet whether it exists.',
    fix: 'Check the address for typing mistakes, or remove it from your lists.',
  },
  mailbox_inactive: {
    scope: 'recipient',
    temporary: RETRY,
    permanent: BOUNCE,
    suppress: 'inactive',
    suppressTemporary: 'soft',
    fault: 'recipient',
    means: 'The mailbox exists but is disabled, closed or abandoned.',
    meansTemporary: 'The mailbox accepts no mail at the moment: it is disabled or cannot be reached.',
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
    means: 'The recipient’s mailbox is full.',
    fix: 'The recipient has to free some space; send it again later.',
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
    means: 'The recipient’s domain does not exist or accepts no mail.',
    meansTemporary:
      'The recipient’s domain was not found, or has no mail server; this is checked again later.',
    fix: 'Check the part of the address after the @.',
  },
  greylisted: {
    scope: 'recipient',
    temporary: { action: 'retry', waitMs: 5 * MINUTE, giveUp: null },
    permanent: { action: 'retry', waitMs: 5 * MINUTE, giveUp: null },
    fault: 'nobody',
    means: 'The server asks every sender it does not know to come back a little later (greylisting).',
    fix: 'Nothing needs to be done; it is accepted at one of the next attempts.',
  },

  // ── about the path: our address, our rate, the connection ─────────────────────────────────────────────────
  rate_limited: {
    scope: 'path',
    temporary: path(5 * MINUTE),
    permanent: path(15 * MINUTE),
    fault: 'operator',
    means: 'The receiver is getting more mail from this server than it wants at the moment.',
    fix: 'Mail to this receiver slows down by itself; if this continues, the operator spreads it over more time or sources.',
  },
  connection_limited: {
    scope: 'path',
    temporary: path(MINUTE),
    permanent: path(5 * MINUTE),
    fault: 'operator',
    means:
      'The receiver allows fewer connections at the same time, or fewer messages per connection, than were used.',
    fix: 'Nothing needs to be done; fewer are used. If this continues, the operator lowers the limit for this receiver.',
  },
  ip_reputation: {
    ...ourAddress(30 * MINUTE),
    means: 'The receiver does not trust the address of this server because of mail that it received from it.',
    fix: 'The operator checks what was sent, increases the volume slowly and asks the receiver’s postmaster for a review.',
  },
  ip_blocklisted: {
    ...ourAddress(2 * HOUR),
    means: 'The address of this server is on a blocklist that the receiver uses.',
    fix: 'The operator finds the cause (`postrider doctor` asks the lists), then asks for removal where the reply says; where it is a relay of yours, the operator asks its provider which addresses may use it.',
  },
  ptr_missing: {
    ...ourAddress(30 * MINUTE),
    means: 'The address of this server has no name in reverse DNS, or one that does not resolve back to it.',
    fix: 'The operator gives the address a PTR record whose name resolves back to it: `postrider doctor` shows what is missing.',
  },
  helo: {
    ...ourAddress(30 * MINUTE),
    means: 'The receiver does not accept the name that this server gives itself in EHLO.',
    fix: 'The operator sets `hostname` to a name that is in DNS and resolves to the sending address: `postrider doctor` shows what is missing.',
  },
  ipv6_refused: {
    ...ourAddress(30 * MINUTE),
    fault: 'receiver',
    means: 'The receiver takes no mail over IPv6.',
    next: 'The message is sent again at once over IPv4. Where the receiver has no IPv4 address, its mail waits, and is given up after four hours.',
    fix: 'Nothing needs to be done; mail to this domain goes over IPv4 for a day. A receiver that has IPv6 addresses only has to take mail there.',
  },
  tls_required: {
    scope: 'path',
    temporary: path(10 * MINUTE),
    permanent: path(10 * MINUTE),
    fault: 'operator',
    means: 'The receiver accepts mail only over encrypted connections.',
    next: 'It is sent again at once under TLS, and no mail is sent to this receiver without TLS for a week.',
    fix: 'Nothing needs to be done. If this continues, the operator checks that TLS to this receiver works from here.',
  },
  tls_failed: {
    ...PATH_WAITS,
    fault: 'next_host',
    means: 'No encrypted connection could be made, and this mail must not be sent without one.',
    fix: 'The administrator of that server corrects its certificate or its TLS. A policy that the recipient’s domain publishes (MTA-STS, DANE) can only be corrected by its owner. If the sender domain requires TLS, `postrider domain set <domain> RequireTls=false` turns that off; if the operator requires it, it is `tls` in shaping.json.',
  },
  relay_tls_failed: {
    ...PATH_WAITS,
    fault: 'operator',
    means: 'No encrypted connection to the relay could be made as its route needs it.',
    fix: 'A password goes to a relay over verified TLS only. Who runs the relay renews a certificate that has expired. The operator names the relay in `route` (or `routes` in postrider.json) by the name that its certificate has, and with `smtps://` only where it expects TLS from the start (mostly port 465). `postrider doctor` tries it, and says what to do about an authority of your own. A changed configuration is read at the next start.',
  },
  relay_login_failed: {
    ...PATH_WAITS,
    fault: 'operator',
    means:
      'This server cannot log in at the relay, or the relay wants a login that the route does not have, or has closed the account.',
    fix: 'The operator corrects the account at the relay, or its user name and password in `route` (or `routes` in postrider.json). A relay that offers no login takes it at another port, mostly 587, or under TLS only (`smtps`, port 465), or needs none. `postrider queue try` then tries at once. A changed configuration is read at the next start.',
  },
  relay_unresolved: {
    ...PATH_WAITS,
    fault: 'operator',
    means: 'The name of the relay of this mail was not found in DNS.',
    fix: 'The operator corrects the relay’s records in DNS, the resolver (`dns`), or the name in `route` (or `routes` in postrider.json); `postrider queue try` then tries at once. A changed configuration is read at the next start.',
  },
  greeting_refused: {
    ...PATH_WAITS,
    fault: 'receiver',
    means:
      'The server refuses in its greeting: it accepts no mail from the address of this server, or none at all.',
    fix: 'If other receivers accept mail, the operator runs `postrider doctor` (reverse DNS, blocklists) and asks the postmaster there; otherwise the owner of the recipient’s domain corrects its MX records.',
  },
  dns_failure: {
    ...PATH_WAITS,
    fault: 'nobody',
    means: 'DNS gave no usable answer about the recipient’s domain.',
    fix: 'Nothing needs to be done at first. If it stays for many domains, the operator checks the resolver (`dns`); if for one, its owner checks its name servers.',
  },
  unreachable: {
    ...PATH_WAITS,
    fault: 'next_host',
    means: 'The mail server could not be reached.',
    fix: 'If it is a relay of a route, the operator checks its address and that it runs; if all receivers are concerned, that outgoing port 25 is open.',
  },
  timeout: {
    ...PATH_WAITS,
    fault: 'next_host',
    means: 'The mail server did not answer in time.',
    fix: 'Nothing needs to be done. If it concerns every receiver or a relay, the operator checks the network, the relay and port 25.',
  },
  conn_lost: {
    ...PATH_WAITS,
    fault: 'next_host',
    means: 'The connection was lost before the message was accepted.',
    fix: 'Nothing needs to be done. If it concerns every receiver or a relay, the operator checks the network, the relay and port 25.',
  },
  service_unavailable: {
    scope: 'path',
    // During a transaction only 421 stops the path, because one message must not do that alone.
    temporary: RETRY,
    permanent: BOUNCE,
    fault: 'next_host',
    means: 'The mail server is busy, out of order or under maintenance.',
    fix: 'Nothing needs to be done unless it lasts for hours; then ask the postmaster of that server or the operator of the relay.',
  },

  // ── about the sender domain ───────────────────────────────────────────────────────────────────────────────
  auth_failed: {
    scope: 'sender_domain',
    temporary: RETRY,
    permanent: BOUNCE,
    fault: 'sender',
    means: 'The receiver could not verify the sender domain (SPF, DKIM or DMARC).',
    meansTemporary: 'The receiver could not verify the sender domain (SPF, DKIM or DMARC) at the moment.',
    fix: 'The owner of the sender domain corrects its DNS records: `postrider doctor <domain>` says which.',
  },
  sender_rejected: {
    scope: 'sender_domain',
    temporary: RETRY,
    permanent: BOUNCE,
    fault: 'sender',
    means: 'The receiver does not accept the sender address or its domain.',
    meansTemporary: 'The receiver could not confirm the sender address or its domain at the moment.',
    fix: 'The owner of the sender domain checks that it has an MX and that the address can be answered: `postrider doctor <domain>`. If a relay of yours says it, its provider does not allow this sender yet: verify the address or the domain there. In a trial account, recipients may need that too.',
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
    means: 'The receiver classified this message as spam.',
    fix: 'The sender changes the content and sends only to people who asked for it.',
  },
  virus: {
    ...CONTENT_REFUSED,
    means: 'The receiver’s scanner found malware in the message.',
    fix: 'The sender checks the attachments and the computer that made them.',
  },
  attachment_prohibited: {
    ...CONTENT_REFUSED,
    means: 'The receiver does not accept this kind of attachment.',
    fix: 'The sender uses another format, or a link instead of the attachment.',
  },
  message_too_large: {
    ...CONTENT_REFUSED,
    means: 'The message is larger than the receiver accepts.',
    fix: 'The sender makes the attachments smaller, or links to them.',
  },
  too_many_recipients: {
    scope: 'batch',
    temporary: RETRY,
    permanent: RETRY,
    fault: 'nobody',
    means: 'The receiver wants fewer recipients in one transaction.',
    next: 'The other recipients follow at once in further transactions, and this receiver gets fewer at a time for a day.',
    fix: 'Nothing needs to be done.',
  },
  protocol_error: {
    scope: 'message',
    temporary: retry(null, 3, 24 * HOUR),
    permanent: BOUNCE,
    fault: 'receiver',
    means: 'The two mail servers did not understand each other.',
    fix: 'The operator reads the reply and the SMTP conversation in the message’s timeline; often the message’s headers or lines are at fault.',
  },
  smtputf8_unsupported: {
    ...MESSAGE_REFUSED,
    means: 'The receiver does not support addresses with letters beyond ASCII.',
    fix: 'Use an ASCII address of the recipient.',
  },
  policy_other: {
    ...MESSAGE_REFUSED,
    means: 'A rule of the receiver refused the message without saying which.',
    fix: 'Read the reply itself; if it does not say, ask the receiver’s postmaster and quote it.',
  },
  unknown_soft: {
    scope: 'message',
    temporary: RETRY,
    permanent: RETRY,
    fault: 'receiver',
    means: 'The receiver put it off in words that no rule knows.',
    fix: 'Nothing needs to be done unless it stays; then read the reply itself, or ask the receiver’s postmaster.',
  },
  unknown_hard: {
    ...MESSAGE_REFUSED,
    means: 'The receiver refused it in words that no rule knows.',
    fix: 'Read the reply itself; if it does not say, ask the receiver’s postmaster and quote it.',
  },

  // ── about the route ───────────────────────────────────────────────────────────────────────────────────────
  relay_denied: {
    scope: 'domain',
    temporary: retry(null, 0, 6 * HOUR),
    permanent: BOUNCE,
    fault: 'receiver',
    means: 'The server answers that it takes no mail for this domain, or only from those who log in.',
    fix: 'The owner of the recipient’s domain corrects its MX records or its server; where it is a relay of yours, the operator looks at its login.',
  },
  routing_loop: {
    scope: 'domain',
    temporary: retry(null, 0, 6 * HOUR),
    permanent: BOUNCE,
    fault: 'receiver',
    means: 'Mail for this recipient runs in a circle or leads nowhere that it may go.',
    fix: 'The owner of the recipient’s domain corrects its MX records or forwarding. Where they lead to an address in a network of yours, the operator names it in `allow-networks`.',
  },
  ipv6_only: {
    scope: 'domain',
    temporary: RETRY,
    permanent: BOUNCE,
    fault: 'operator',
    means: 'The recipient’s mail servers have IPv6 addresses only, and this server sends by IPv4.',
    fix: 'The operator switches `ipv6` on, where this server has an IPv6 address with reverse DNS, and gives it to the source (`ipv6` in `sources`), if there is one, or sends to this domain through a relay (`routes`).',
  },
  ipv4_only: {
    scope: 'domain',
    temporary: RETRY,
    permanent: BOUNCE,
    fault: 'operator',
    means: 'The recipient’s mail servers have IPv4 addresses only, and the source of this mail has none.',
    fix: 'The operator gives the source an IPv4 address (`address` in `sources`), or sends to this domain from another pool or through a relay (`routes`).',
  },

  // ── our own results ───────────────────────────────────────────────────────────────────────────────────────
  expired: {
    scope: 'message',
    temporary: RETRY,
    permanent: BOUNCE,
    soft: true,
    fault: 'nobody',
    means: 'The time for this message was over before the receiver took it.',
    fix: 'Its last reply, or what it waited for, says what stood in the way; send it again once that is mended.',
  },
  outcome_unknown: {
    scope: 'path',
    temporary: RETRY,
    permanent: RETRY,
    fault: 'nobody',
    means: 'The connection ended after the whole message was sent and before the receiver confirmed it.',
    fix: 'Nothing needs to be done; a second copy may arrive. If a receiver never confirms mail, large packets may be lost on the way to it: the operator sets net.ipv4.tcp_mtu_probing to 1 (sysctl).',
    fixFinal:
      'Ask the recipient whether it arrived before you send it again (`AtMostOnce` of the sender domain decides this).',
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
