/**
 * The cases that mail servers often get wrong, and which test shows that this one does not. Data alone; it is held
 * against the test files, and against docs/known-issues.md, by `test/docs/peers-get-wrong.test.ts`.
 */

/** A file below the root, and the title of a test in it as it stands in the source. */
export type ShownBy = readonly [file: string, title: string];

export interface PeerCase {
  readonly number: number;
  readonly name: string;
  readonly shownBy: readonly ShownBy[];
  /** What this version does not do of it, in the words of docs/known-issues.md. */
  readonly missing?: string;
}

const FAR_ENDS = 'test/chaos/far-ends.test.ts';
const CLIENT = 'test/dialogues/smtp-client.test.ts';
const CLASSIFY = 'src/pipeline/deliver/outcome/classifier/classify.test.ts';
const COPIES = 'test/scenarios/delivery-copies.test.ts';
const GROUPED = 'test/scenarios/delivery-grouped.test.ts';
const HERE = 'test/scenarios/peers-get-wrong.test.ts';
const MEMBERSHIP = 'src/pipeline/queue/membership.test.ts';
const MX_HOSTS = 'src/net/mx-hosts.test.ts';
const NODES = 'test/chaos/nodes.test.ts';
const PATHS = 'test/scenarios/delivery-paths.test.ts';
const PATH_RULES = 'src/pipeline/deliver/path/path-rules.test.ts';
const QUEUE = 'src/pipeline/queue/create-queue.test.ts';
const REPLY = 'src/smtp/reply.test.ts';
const RESOLVER = 'src/net/resolver.test.ts';
const RETURNS = 'test/scenarios/returns.test.ts';
const RETURNED = 'src/pipeline/events/returned-mail.test.ts';
const SETTLED_REPLY = 'src/pipeline/deliver/outcome/reply-settlement.test.ts';
const SETTLING = 'src/store/conformance/settling.ts';
const SUPPRESSIONS = 'test/scenarios/suppressions.test.ts';
const TLS = 'test/scenarios/tls-ladder.test.ts';
const TRACKING = 'test/scenarios/tracking.test.ts';
const WAYS_IN = 'test/scenarios/ways-in.test.ts';

const shown = (number: number, name: string, ...shownBy: ShownBy[]): PeerCase => ({ number, name, shownBy });

export const PEER_CASES: readonly PeerCase[] = [
  shown(
    1,
    'RCPT answered 251 or 252 counts as taken',
    [CLIENT, 'sends DATA after %s'],
    ['test/scenarios/delivery-retries.test.ts', 'is not %s'],
  ),
  shown(
    2,
    'a refusal of our address suppresses nobody and keeps the mail',
    [SETTLED_REPLY, 'blocks the path and keeps the mail without charging an attempt'],
    [SUPPRESSIONS, 'by "%s"'],
  ),
  shown(3, '"mailbox unavailable" that names a blocklist is about our address', [
    CLASSIFY,
    'takes "mailbox unavailable" beside a blocklisted address for a matter of the address',
  ]),
  shown(
    4,
    'a full mailbox is no end of the address',
    [CLASSIFY, 'counts a full mailbox without suppressing at once'],
    [SUPPRESSIONS, 'by "%s"'],
  ),
  shown(5, '450 with 4.1.1 is not for good', [
    CLASSIFY,
    'does not take a 450 with 4.1.1 for the end of an address',
  ]),
  shown(
    6,
    '554 as a greeting leads to the next host and bounces nobody',
    [HERE, 'goes on to the next host where a greeting says 554, and bounces nobody'],
    [CLASSIFY, 'never bounces on what is said before a message'],
  ),
  shown(7, '421 on a connection that was used before costs no attempt', [
    PATHS,
    'is kept as an override with its reason, and the message goes another way at once',
  ]),
  shown(
    8,
    'an idle connection that ends at MAIL costs no attempt',
    [HERE, 'a connection that ends at its second MAIL costs no attempt and no time'],
    [CLIENT, 'says that the session was reused, so that the caller can try again at once'],
  ),
  shown(
    9,
    'a connection lost after the final dot: once more, marked, same Message-ID',
    [FAR_ENDS, 'sends once more, marked and with the same Message-ID, when the last reply is lost'],
    [
      'src/pipeline/deliver/outcome/settlement.test.ts',
      'does not send for ever to a far end that never confirms',
    ],
  ),
  shown(10, 'an answer to the final dot after nine minutes is a delivery', [
    CLIENT,
    'takes an answer to the dot after nine minutes as the delivery it is',
  ]),
  shown(
    11,
    'a process killed between the 250 and its record sends once more, marked; behind the record never',
    ['test/chaos/crash.test.ts', 'loses nothing it acknowledged when it dies at %s'],
    ['test/chaos/crash.test.ts', 'loses nothing in a short crash campaign'],
  ),
  shown(
    12,
    'whoever lost a lease completes nothing',
    [SETTLING, 'records an outcome whose lease is lost as one late_outcome, and changes nothing else'],
    ['src/store/conformance/nodes.ts', 'settles nothing by an outcome of the epoch that lost the row'],
    [MEMBERSHIP, 'that was paused until others ended it begins a new epoch before it does anything else'],
    [NODES, 'completes nothing that is not its own, and goes on under a new epoch'],
  ),
  shown(
    13,
    'what DNS says: failure, no name, no data, null MX',
    [MX_HOSTS, 'SERVFAIL, REFUSED and nonsense are temporary, and never lead to the domain itself'],
    [MX_HOSTS, 'a null MX means no mail; beside real ones it is ignored'],
    [MX_HOSTS, 'NODATA means the domain stands for itself'],
    [
      'test/scenarios/delivery-direct.test.ts',
      'believes that a domain does not exist only when it hears it twice',
    ],
  ),
  shown(
    14,
    'an MX at a private address or at our own is not connected to',
    [MX_HOSTS, 'refuses a domain whose only host is at %s'],
    [MX_HOSTS, 'refuses our own addresses, localhost, and a domain that stands for itself on loopback'],
    [FAR_ENDS, 'never connects to a private address'],
  ),
  shown(
    15,
    'an MX that moves while mail waits',
    [WAYS_IN, 'is asked for again after nobody answered there'],
    [MX_HOSTS, 'is followed after a minute where its TTL is five seconds, not at every message'],
  ),
  shown(16, 'resolvers that are down for an hour', [
    RESOLVER,
    'serves what it knew for six hours while no server answers, and no longer',
  ]),
  shown(17, 'a first MX host that swallows connections', [
    HERE,
    'is passed over for the next one, long before a one-time code is tried again',
  ]),
  shown(
    18,
    'ten thousand messages for a dead site do not keep a one-time code waiting',
    [HERE, 'keep no one-time code for another waiting, and nothing is noted of each of them'],
    [QUEUE, 'cost nothing but a sweep now and then while their site is blocked'],
  ),
  shown(
    19,
    'a receipt passes another sender’s bulk mail to the same receiver',
    [PATHS, 'let a receipt of one sender pass the bulk of another within a few messages'],
    [
      'src/pipeline/queue/sender-rows.test.ts',
      'let one message of a small sender pass the thousand of a large one',
    ],
  ),
  shown(20, 'a sender that calls everything critical has half of the connections', [
    PATH_RULES,
    'gives one tenant’s critical mail half of them while others wait, and all when nobody does',
  ]),
  shown(
    21,
    'mail behind a closed path expires on time, with the last answer',
    [QUEUE, 'let their mail expire on time, with the last answer'],
    ['test/scenarios/delivery-retries.test.ts', 'is given up when its time is over, with the last reply'],
  ),
  shown(
    22,
    'a path that opens again begins small',
    [PATH_RULES, 'begins small again when a success opens it'],
    [PATHS, 'closes, says so on everything that waits, charges nobody, and asks with one message'],
  ),
  shown(23, 'fifty domains of one provider share five connections', [
    PATHS,
    'share its connections, which never are more than it allows, and its limits',
  ]),
  shown(24, 'two domains never share a transaction', [
    GROUPED,
    'never shares a transaction between domains, though they share their host',
  ]),
  shown(
    25,
    '452 for a later recipient, and for the first',
    [GROUPED, 'goes on at once with the rest where the server wants fewer, which is kept for a day'],
    [GROUPED, 'waits like any other where the first recipient is one too many'],
  ),
  shown(
    26,
    'mixed answers to recipients, then a refused message: each recipient right',
    [GROUPED, 'keeps its own refusal, and gets the answer to the message where it was accepted'],
    [CLIENT, 'gives each recipient its own refusal, and the reply to DATA or the dot to the accepted ones'],
  ),
  shown(27, '354 to a pipelined DATA though every recipient was refused', [
    CLIENT,
    'sends a lone dot when pipelined DATA is answered 354 though nobody was accepted',
  ]),
  shown(
    28,
    'a Bcc recipient never shares a transaction',
    [GROUPED, 'never lets a Bcc recipient share a transaction'],
    [COPIES, 'is in no copy, no webhook call, no capture, and no envelope but the own'],
  ),
  shown(29, 'greylisting is met with the same return path', [
    HERE,
    'a greylisted message comes back with the same return path, and is taken',
  ]),
  shown(
    30,
    'a wait of an hour is cut for critical mail',
    [HERE, 'a wait of an hour is cut to half of one for a one-time code'],
    ['src/pipeline/queue/retry-schedule.test.ts', 'follows a hint within 15 s and 30 min, and a little more'],
  ),
  shown(
    31,
    'a handshake that fails; plaintext behind STARTTLS',
    [
      TLS,
      'goes in the clear where the handshake fails, after one with a small ClientHello, and remembers it',
    ],
    [TLS, 'does not go on where plaintext follows STARTTLS, nor in the clear'],
    [TLS, 'waits where the certificate is not valid'],
  ),
  shown(32, 'a certificate nobody vouches for is good enough where nothing is asked for', [
    TLS,
    'uses TLS where it is offered, whatever the certificate',
  ]),
  shown(
    33,
    'an MTA-STS policy once seen holds; an MX it does not name waits',
    [TLS, 'keeps to a policy once seen when its server and its record are gone, also after a restart'],
    [TLS, 'waits where no MX is one that the policy names'],
  ),
  shown(34, 'TLSA records that cannot be looked up', [TLS, 'waits where TLSA records cannot be looked up']),
  shown(35, 'a host that knows HELO alone', [
    CLIENT,
    'says HELO to a server that does not know EHLO, and uses no extension then',
  ]),
  shown(
    36,
    'replies of odd shapes',
    [CLIENT, 'understands replies in every odd shape'],
    [REPLY, 'takes the code of the last line, and the enhanced code wherever it stands'],
    [REPLY, 'reads UTF-8 where it is valid, Latin-1 else, and makes control characters blanks'],
    [REPLY, 'keeps the first lines and the last one of an over-long reply'],
  ),
  shown(37, 'the code and the enhanced code of a reply disagree', [
    CLASSIFY,
    'lets the class of the code beat that of the enhanced code',
  ]),
  shown(
    38,
    'a message above SIZE bounces before DATA; SIZE 0 is no limit',
    [HERE, 'a message above its SIZE bounces before DATA, and SIZE 0 is no limit'],
    [REPLY, 'takes no limit from SIZE 0, none, nonsense or a number beyond reason'],
  ),
  shown(39, 'a local part outside ASCII where SMTPUTF8 is not offered', [
    HERE,
    'a local part outside ASCII bounces where SMTPUTF8 is not offered, and suppresses nobody',
  ]),
  shown(
    40,
    'long lines, lone CR and LF, NUL and leading dots reach the far end whole and signed',
    [HERE, 'arrives in lines that SMTP allows, whole and with a signature that verifies'],
    [
      'src/pipeline/compose/compose.property.test.ts',
      'leaves safe bytes that a foreign parser reads back field by field',
    ],
    ['src/smtp/dot-stuffing.test.ts', 'gives a strict server back what was given, whatever the chunks'],
  ),
  shown(
    41,
    'long header fields are folded and stay signed',
    ['src/mail/dkim.test.ts', 'verifies whatever the folding of the headers'],
    [
      'src/mail/header-fold.test.ts',
      'puts a token of 995 octets on a line of its own and encodes what no line can hold',
    ],
  ),
  shown(
    42,
    'canceling what is being sent is refused, what waits is never sent',
    [
      'src/store/conformance/cancel-retry.ts',
      'stops queued and held recipients, once, with an event and its webhook call',
    ],
    [
      'src/store/conformance/cancel-retry.ts',
      'comes too late for what is being sent or was delivered, and keeps the lease',
    ],
  ),
  shown(
    43,
    'an address that is suppressed while its mail waits',
    [SUPPRESSIONS, 'is not tried again'],
    [QUEUE, 'are settled without an attempt when their turn comes; the others go'],
  ),
  shown(44, 'no change to a DKIM key that is not published', [
    'src/listeners/http/operations/rotation.test.ts',
    'refuses with a sentence while the DNS does not show the standby key',
  ]),
  shown(
    45,
    'mail of a domain that may not send any more is held, not sent unsigned',
    [HERE, 'is held with the reason where the domain was suspended meanwhile'],
    ['test/scenarios/delivery-relay.test.ts', 'is held while its domain is gone, and never sent unsigned'],
    [
      'src/policy/domains/domain-status.test.ts',
      'goes on sending for two days from the first check that failed, and no longer',
    ],
  ),
  shown(
    46,
    'a bounce with several recipients, the first only delayed',
    [RETURNS, 'with several blocks counts the one that names the recipient, not the first'],
    [RETURNS, 'that says delayed is a note; one that could not be read as any report is one too'],
  ),
  shown(
    47,
    'return paths: folded, quoted, forged, expired, forwarded, from a sender that is not null',
    [RETURNS, 'is taken at a folded or quoted return path, and from a sender that is not null'],
    [RETURNS, 'of a forwarding is recorded with the address it went to, and suppresses nobody'],
    [RETURNS, 'knows nobody but addresses of ours that verify'],
    [RETURNED, 'does not count sixty days later, nor does a token'],
  ),
  shown(48, 'an automatic reply is no bounce', [
    RETURNS,
    'to the return path is told in the timeline and is no bounce',
  ]),
  shown(
    49,
    'a complaint without a recipient is attributed by the token; a forged one is not',
    [RETURNS, 'that names nobody is attributed by the token in the copy, for each of 50 recipients'],
    [
      'src/pipeline/events/forged-returns.test.ts',
      'suppresses nobody; with a valid token it reaches that token’s recipient alone, and a replay acts once',
    ],
  ),
  shown(50, 'a complaint that is taken back', [
    RETURNS,
    'is taken back by not-spam, once each, and only what it made',
  ]),
  shown(51, 'a bounce of mail we passed on is not answered', [
    RETURNS,
    'passes mail for postmaster and abuse on to the operator, once, and nothing that could go in circles',
  ]),
  shown(
    52,
    'proxies, HEAD and scanners open nothing for a person and unsubscribe nobody',
    [TRACKING, 'counts a picture that is fetched, marks a proxy, and does not count HEAD'],
    [TRACKING, 'is marked, and unsubscribes nobody'],
  ),
  shown(53, 'opting out by one POST, with or without a body, repeated', [
    TRACKING,
    'takes one POST, with or without a body, and tells of it once',
  ]),
  shown(
    54,
    'a wall clock that jumps',
    [QUEUE, 'by %i ms makes no hot loop'],
    [QUEUE, 'back does not put off the expiry of what is due then'],
  ),
  shown(
    55,
    'a disk that is full while an outcome is stored',
    [
      'test/chaos/store-outage.test.ts',
      'sends nothing more on a full disk and goes on by itself when there is room',
    ],
    [QUEUE, 'holds outcomes and hands out nothing until they are stored'],
  ),
  shown(56, 'a stop with fifty transactions in DATA', [
    'test/chaos/stop.test.ts',
    'lets fifty transactions in DATA finish and gives back what was not begun',
  ]),
  shown(
    57,
    'a mistake in data that is read again changes nothing',
    ['src/operator-files.test.ts', 'with %s keep the server from starting; a reload keeps the old ones'],
    [
      'test/scenarios/traffic.test.ts',
      'are read again on SIGHUP; a mistake then changes nothing and is logged',
    ],
  ),
  shown(
    58,
    'nothing is learned from words of our own',
    [PATH_RULES, 'is never less than one connection, nor from words of our own'],
    [CLASSIFY, 'never meets a text rule with a text of our own'],
  ),
  shown(
    59,
    'two nodes share one address and its limits',
    [MEMBERSHIP, 'goes over when its holder was killed: after its time, and within twenty seconds'],
    [NODES, 'never have more connections than its limit, and one goes on where the other is killed or stops'],
  ),
  shown(60, 'the budget of a warm-up over a restart', [
    'test/scenarios/warm-up.test.ts',
    'sends a provider what its budget allows, and the rest waits with that reason',
  ]),
  shown(
    61,
    'IPv6 alone; refused by IPv6, so IPv4',
    [WAYS_IN, 'is used where it is switched on and a host has nothing else'],
    [WAYS_IN, 'is spoken to by IPv4 from then on'],
  ),
  shown(62, 'one address in To and in Cc gets one copy', [
    COPIES,
    'gets one copy however often and in whichever list the address stands',
  ]),
  shown(
    63,
    'addresses of odd shapes: taken in one form, or refused',
    ['src/mail/address.test.ts', 'takes %j'],
    ['src/mail/address.test.ts', 'refuses %j'],
    ['test/scenarios/validation.test.ts', 'is compared in lower case and as an A-label'],
  ),
  shown(64, 'the number under which a host took the message is kept', [
    HERE,
    'the number under which a host took the message is kept for whoever asks',
  ]),
  shown(
    65,
    'two hundred thousand rows behind a slow path',
    [
      'src/store/sqlite/deep-queue.test.ts',
      'is claimed from in a few milliseconds, and gives no more than is asked for',
    ],
    [QUEUE, 'are claimed only as far as their path can use them soon'],
    [QUEUE, 'never holds more than its limits, and refills until everything is done'],
  ),
];
