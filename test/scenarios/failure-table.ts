/**
 * What may go wrong with mail on its way, each made on purpose, and what an operator must read of it: what happened, whose
 * fault it is, what to do. Data for failure-words.test.ts. `{ip}`, `{port}` and `{host}` stand for the row's far end.
 */
import type { FakeFault, FakeRecords } from '../fakes/fake-dns.ts';
import type { Script } from '../fakes/scripted-mx.ts';

export interface FailureRow {
  /** What is wrong; its first word is a label of DNS, each its own. */
  what: string;
  /** The far end behind the domain's MX; 'none': nobody listens there. A list: one a connection. Left out: DNS leads nowhere. */
  far?: Script | readonly Script[] | 'none';
  /** Records by name, `@` for the domain itself; added to MX and A of the far end. */
  dns?: Record<string, FakeRecords>;
  /** Faults of DNS by name or `TYPE name`, `@` for the domain. */
  faults?: Record<string, FakeFault>;
  /** MTA-STS policy with this mx line. */
  policy?: string;
  /** A relay in place of the domain's own hosts. */
  relay?: string;
  /** The sender domain; `strict.example` requires verified TLS. */
  from?: 'strict.example' | 'gone.example' | 'once.example';
  mail?: Record<string, unknown>;
  /** The event that tells of it. */
  comes: 'deferred' | 'bounced' | 'failed' | 'held' | 'delivered';
  /** Class of its bounce object, where it has one. */
  class?: string;
  /** All of these are said by `postrider message`. */
  says: readonly (string | RegExp)[];
  /** It closes the path, whose reason says this. */
  path?: string | RegExp;
}

const STARTTLS = ['STARTTLS', 'PIPELINING'];
const UNDER_TLS = { capabilities: STARTTLS } as const;
/** Nothing but this and a reply of its own. */
const at = (step: 'mail' | 'rcpt' | 'data' | 'dot' | 'banner' | 'ehlo', reply: string): Script => ({
  [step]: reply,
});

export const FAILURES: readonly FailureRow[] = [
  // ── DNS ───────────────────────────────────────────────────────────────────────────────────────────────────
  {
    what: 'nodomain: the domain does not exist',
    comes: 'deferred',
    class: 'DomainInvalid',
    says: ['nodomain.test does not exist', 'after the @'],
  },
  {
    what: 'nullmx: the domain takes no mail',
    dns: { '@': { MX: [[0, '.']] } },
    comes: 'bounced',
    class: 'DomainInvalid',
    says: ['nullmx.test takes no mail (null MX)'],
  },
  {
    what: 'noaddress: its host has no address',
    dns: { '@': { MX: ['mx.noaddress.test'] } },
    comes: 'deferred',
    class: 'DomainInvalid',
    says: ['mx.noaddress.test'],
  },
  {
    what: 'sixonly: its host has IPv6 addresses only',
    dns: { '@': { MX: ['mx.sixonly.test'] }, 'mx.sixonly.test': { AAAA: ['2001:db8::1'] } },
    comes: 'deferred',
    says: ['mx.sixonly.test', 'ipv6'],
  },
  {
    what: 'private: its host has a private address',
    dns: { '@': { MX: ['mx.private.test'] }, 'mx.private.test': { A: ['10.1.2.3'] } },
    comes: 'deferred',
    says: ['10.1.2.3', 'allow-networks'],
  },
  {
    what: 'literal: its MX is an address',
    dns: { '@': { MX: ['192.0.2.7'] } },
    comes: 'deferred',
    says: ['192.0.2.7'],
  },
  {
    what: 'servfail: its name servers fail',
    faults: { '@': { kind: 'servfail' } },
    comes: 'deferred',
    class: 'DnsFailure',
    says: ['servfail.test', 'SERVFAIL'],
    path: 'SERVFAIL',
  },
  {
    what: 'refusing: its name servers refuse',
    faults: { '@': { kind: 'refused' } },
    comes: 'deferred',
    class: 'DnsFailure',
    says: ['refusing.test', 'REFUSED'],
  },
  {
    what: 'lame: its name servers know nothing',
    faults: { '@': { kind: 'lame' } },
    comes: 'deferred',
    class: 'DnsFailure',
    says: ['lame.test'],
  },
  {
    what: 'hostfail: the address of its host cannot be looked up',
    dns: { '@': { MX: ['mx.hostfail.test'] } },
    faults: { 'mx.hostfail.test': { kind: 'servfail' } },
    comes: 'deferred',
    class: 'DnsFailure',
    says: ['mx.hostfail.test', 'SERVFAIL'],
  },
  {
    what: 'looping: its host is an alias of itself',
    dns: { '@': { MX: ['mx.looping.test'] }, 'mx.looping.test': { CNAME: 'mx.looping.test' } },
    comes: 'deferred',
    says: ['mx.looping.test', 'alias'],
  },

  // ── TLS ───────────────────────────────────────────────────────────────────────────────────────────────────
  {
    what: 'unnamed: its policy names another host',
    far: {},
    policy: 'mail.unnamed.test',
    comes: 'deferred',
    class: 'TlsFailed',
    says: ['MTA-STS policy of unnamed.test', 'mail.unnamed.test'],
    path: 'MTA-STS',
  },
  {
    what: 'selfsigned: its policy asks for a certificate that it does not have',
    far: UNDER_TLS,
    policy: 'mx.selfsigned.test',
    comes: 'deferred',
    class: 'TlsFailed',
    says: ['no trusted authority vouches for it', 'MTA-STS policy of selfsigned.test'],
    path: 'MTA-STS',
  },
  {
    what: 'nostarttls: its policy asks for TLS, which it does not offer',
    far: {},
    policy: 'mx.nostarttls.test',
    comes: 'deferred',
    class: 'TlsFailed',
    says: ['does not offer STARTTLS', 'MTA-STS policy of nostarttls.test'],
  },
  {
    what: 'dying: its policy asks for TLS, which dies',
    far: { ...UNDER_TLS, ehlo: ['250-mx.test\n250 STARTTLS', { do: 'close' }] },
    policy: 'mx.dying.test',
    comes: 'deferred',
    class: 'TlsFailed',
    says: ['behind the TLS handshake', 'MTA-STS policy of dying.test'],
  },
  {
    what: 'mismatch: its TLSA record is of another certificate',
    far: UNDER_TLS,
    dns: { '@': { secure: true } },
    comes: 'deferred',
    class: 'TlsFailed',
    says: ['DANE', 'mx.mismatch.test'],
  },
  {
    what: 'tlsafail: its TLSA records cannot be looked up',
    far: UNDER_TLS,
    dns: { '@': { secure: true } },
    comes: 'deferred',
    class: 'TlsFailed',
    says: ['TLSA', 'SERVFAIL'],
  },
  {
    what: 'strictclear: the sender requires TLS, which is not offered',
    far: {},
    from: 'strict.example',
    comes: 'deferred',
    class: 'TlsFailed',
    says: ['does not offer STARTTLS', 'RequireTls'],
  },
  {
    what: 'strictself: the sender requires a good certificate',
    far: UNDER_TLS,
    from: 'strict.example',
    comes: 'deferred',
    class: 'TlsFailed',
    says: ['no trusted authority vouches for it', 'RequireTls'],
  },
  {
    what: 'strictbroken: the sender requires TLS, whose handshake fails',
    far: { capabilities: STARTTLS, starttls: { do: 'fake-tls', bytes: 'no', next: 'close' } },
    from: 'strict.example',
    comes: 'deferred',
    class: 'TlsFailed',
    says: ['TLS handshake failed', 'RequireTls'],
  },
  {
    what: 'injecting: plaintext follows STARTTLS',
    far: UNDER_TLS,
    comes: 'deferred',
    class: 'TlsFailed',
    says: ['plaintext followed', /attack|inject/],
  },
  {
    what: 'brokentls: its TLS does not work and nobody asks for it',
    far: { capabilities: STARTTLS, starttls: { do: 'fake-tls', bytes: 'no', next: 'close' } },
    comes: 'delivered',
    says: ['TLS: none (TLS failed: ', 'handshake'],
  },
  {
    what: 'dyingtls: its TLS dies behind the handshake and nobody asks for it',
    far: { ...UNDER_TLS, ehlo: ['250-mx.test\n250 STARTTLS', { do: 'close' }] },
    comes: 'delivered',
    says: ['TLS: none (TLS failed: '],
  },
  {
    what: 'wantstls: it takes mail under TLS only, and offers none',
    far: at('mail', '530 5.7.0 Must issue a STARTTLS command first'),
    comes: 'deferred',
    class: 'TlsFailed',
    says: ['does not offer STARTTLS', 'refused mail in the clear', 'encrypted'],
  },

  // ── connecting ────────────────────────────────────────────────────────────────────────────────────────────
  {
    what: 'nobody: nobody listens there',
    far: 'none',
    comes: 'deferred',
    class: 'Unreachable',
    says: ['{host} [{ip}]:{port} refused the connection', 'could not be reached'],
    path: '{host}',
  },
  {
    what: 'hangsup: it closes before it greets',
    far: { banner: { do: 'close' } },
    comes: 'deferred',
    class: 'ConnLost',
    says: ['{host}', 'closed the connection', 'before its greeting'],
    path: 'closed the connection',
  },
  {
    what: 'babel: it speaks no SMTP',
    far: { banner: { do: 'raw', bytes: 'HTTP/1.1 400 Bad Request\r\n\r\n' } },
    comes: 'deferred',
    class: 'ProtocolError',
    says: ['{host}', 'HTTP/1.1 400'],
  },
  {
    what: 'busy: it is busy when it greets',
    far: { banner: { do: 'last', reply: '421 4.3.2 System busy, try again later' } },
    comes: 'deferred',
    class: 'ServiceUnavailable',
    says: ['System busy', 'busy'],
    path: 'System busy',
  },
  {
    what: 'nothere: it greets with a refusal',
    far: { banner: { do: 'last', reply: '554 mx.nothere.test' } },
    comes: 'deferred',
    class: 'GreetingRefused',
    says: ['554 mx.nothere.test', 'refuses', 'postrider doctor'],
    path: '554 mx.nothere.test',
  },
  {
    what: 'nosmtp: it takes no mail at all',
    far: { banner: { do: 'last', reply: '554 5.3.2 No SMTP service here' } },
    comes: 'deferred',
    class: 'GreetingRefused',
    says: ['No SMTP service here'],
  },
  {
    what: 'badname: it distrusts our address when it greets',
    far: { banner: { do: 'last', reply: '554 5.7.1 Your IP address has a poor reputation' } },
    comes: 'deferred',
    class: 'IpReputation',
    says: ['poor reputation', 'postmaster'],
    path: 'poor reputation',
  },
  {
    what: 'listed: our address is on a list',
    far: {
      banner: {
        do: 'last',
        reply: '550 5.7.1 Service unavailable; client [192.0.2.1] blocked using zen.spamhaus.org',
      },
    },
    comes: 'deferred',
    class: 'IpBlocklisted',
    says: ['zen.spamhaus.org', 'postrider doctor'],
  },
  {
    what: 'crowded: it wants fewer connections',
    far: { banner: { do: 'last', reply: '421 4.7.0 Too many concurrent SMTP connections from your IP' } },
    comes: 'deferred',
    class: 'ConnectionLimited',
    says: ['Too many concurrent'],
  },
  {
    what: 'badhelo: it does not take our name',
    far: {
      ehlo: '550 5.7.1 Helo command rejected: Host not found',
      helo: '550 5.7.1 Helo command rejected: Host not found',
    },
    comes: 'deferred',
    class: 'Helo',
    says: ['Helo command rejected', '`hostname`'],
  },

  // ── certificates that are wrong in one way each ──
  {
    what: 'expired: its certificate has expired',
    far: UNDER_TLS,
    policy: 'mx.expired.test',
    comes: 'deferred',
    class: 'TlsFailed',
    says: ['it has expired', 'MTA-STS policy of expired.test'],
  },
  {
    what: 'othername: its certificate is for another name',
    far: UNDER_TLS,
    policy: 'mx.othername.test',
    comes: 'deferred',
    class: 'TlsFailed',
    says: ['it is for another name', 'MTA-STS policy of othername.test'],
  },

  // ── replies ───────────────────────────────────────────────────────────────────────────────────────────────
  {
    what: 'unknown: the mailbox does not exist',
    far: at('rcpt', '550 5.1.1 No such user here'),
    comes: 'bounced',
    class: 'RecipientInvalid',
    says: ['No such user', 'does not exist'],
  },
  {
    what: 'full: the mailbox is full',
    far: at('rcpt', '552 5.2.2 Mailbox full'),
    comes: 'bounced',
    class: 'MailboxFull',
    says: ['Mailbox full', 'free some space'],
  },
  {
    what: 'disabled: the mailbox is switched off',
    far: at('rcpt', '550 5.2.1 The mailbox is disabled'),
    comes: 'bounced',
    class: 'MailboxInactive',
    says: ['disabled', 'closed or abandoned'],
  },
  {
    what: 'grey: it greylists',
    far: at('rcpt', '450 4.2.0 Greylisted, please try again in 300 seconds'),
    comes: 'deferred',
    class: 'Greylisted',
    says: ['Greylisted', 'nobody’s fault'],
  },
  {
    what: 'dmarc: it finds DMARC failing',
    far: at(
      'dot',
      '550 5.7.26 Unauthenticated email from example.com is not accepted due to the domain DMARC policy',
    ),
    comes: 'bounced',
    class: 'AuthFailed',
    says: ['DMARC', 'postrider doctor'],
  },
  {
    what: 'spf: it finds SPF failing',
    far: at('mail', '550 5.7.23 SPF validation failed'),
    comes: 'bounced',
    class: 'AuthFailed',
    says: ['SPF', 'postrider doctor'],
  },
  {
    what: 'spam: it takes it for spam',
    far: at('dot', '554 5.7.1 Message rejected as spam by content filtering'),
    comes: 'bounced',
    class: 'SpamContent',
    says: ['spam', 'content'],
  },
  {
    what: 'virus: it finds malware',
    far: at('dot', '554 5.7.1 Message contains a virus'),
    comes: 'bounced',
    class: 'Virus',
    says: ['malware'],
  },
  {
    what: 'exe: it takes no such attachment',
    far: at('dot', '552 5.7.0 This message was blocked because its attachment type is prohibited'),
    comes: 'bounced',
    class: 'AttachmentProhibited',
    says: ['attachment'],
  },
  {
    what: 'link: a link is on a list',
    far: at('dot', '554 5.7.1 Message contains a URL listed by dbl.spamhaus.org'),
    comes: 'bounced',
    class: 'UrlOrDomainBlocklisted',
    says: ['link', 'blocklist'],
  },
  {
    what: 'large: it announces less than the message has',
    far: { capabilities: ['SIZE 200'] },
    comes: 'bounced',
    class: 'MessageTooLarge',
    says: ['200', 'octets', 'smaller'],
  },
  {
    what: 'toolarge: it finds the message too large',
    far: at('dot', '552 5.3.4 Message size exceeds fixed limit'),
    comes: 'bounced',
    class: 'MessageTooLarge',
    says: ['exceeds', 'smaller'],
  },
  {
    what: 'norelay: it is not responsible',
    far: at('rcpt', '550 5.7.1 Relaying denied'),
    comes: 'deferred',
    class: 'RelayDenied',
    says: ['Relaying denied', 'MX records'],
  },
  {
    what: 'looped: mail for it runs in a circle',
    far: at('dot', '554 5.4.6 Too many hops'),
    comes: 'deferred',
    class: 'RoutingLoop',
    says: ['Too many hops', 'circle'],
  },
  {
    what: 'ptr: it wants reverse DNS',
    far: at('rcpt', '550 5.7.25 The IP address sending this message does not have a PTR record'),
    comes: 'deferred',
    class: 'PtrMissing',
    says: ['PTR'],
    path: 'PTR',
  },
  {
    what: 'blocked: it asks a list about our address',
    far: at('rcpt', '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using bl.spamcop.net'),
    comes: 'deferred',
    class: 'IpBlocklisted',
    says: ['bl.spamcop.net'],
    path: 'bl.spamcop.net',
  },
  {
    what: 'fast: we send too fast',
    far: at('mail', '421 4.7.0 Too many messages from your IP, slow down'),
    comes: 'deferred',
    class: 'RateLimited',
    says: ['slow down'],
    path: 'Too many messages from your IP',
  },
  {
    what: 'down: it closes down in the middle',
    far: { rcpt: { do: 'last', reply: '421 4.3.0 Service shutting down for maintenance' } },
    comes: 'deferred',
    class: 'ServiceUnavailable',
    says: ['shutting down for maintenance'],
  },
  {
    what: 'sender: it does not take the sender',
    far: at('mail', '553 5.1.8 Sender domain example.com does not resolve'),
    comes: 'bounced',
    class: 'SenderRejected',
    says: ['Sender domain', 'postrider doctor'],
  },
  {
    what: 'busybox: one mailbox gets too much',
    far: at('rcpt', '450 4.2.1 The user you are trying to contact is receiving mail too quickly'),
    comes: 'deferred',
    class: 'RecipientRateLimited',
    says: ['too quickly', 'This one mailbox'],
  },
  {
    what: 'policy: a rule refuses without saying which',
    far: at('dot', '550 5.7.0 Rejected by local policy'),
    comes: 'bounced',
    class: 'PolicyOther',
    says: ['local policy', 'postmaster'],
  },
  {
    what: 'odd: it refuses in words that nobody knows',
    far: at('rcpt', '550 Xyzzy'),
    comes: 'bounced',
    class: 'UnknownHard',
    says: ['Xyzzy', 'words that no rule knows'],
  },
  {
    what: 'oddly: it puts off in words that nobody knows',
    far: at('rcpt', '450 Xyzzy'),
    comes: 'deferred',
    class: 'UnknownSoft',
    says: ['Xyzzy'],
  },
  {
    what: 'ascii: it takes no letters beyond ASCII',
    far: {},
    mail: { local: 'ünï' },
    comes: 'bounced',
    class: 'Smtputf8Unsupported',
    says: ['SMTPUTF8', 'ASCII address'],
  },
  {
    what: 'garbled: it answers what is no reply',
    far: { rcpt: { do: 'raw', bytes: 'what?\r\n' } },
    comes: 'deferred',
    class: 'ProtocolError',
    says: ['what?'],
  },

  // ── lost ──────────────────────────────────────────────────────────────────────────────────────────────────
  {
    what: 'drops: it closes where the message begins',
    far: { data: { do: 'close' } },
    comes: 'deferred',
    class: 'ConnLost',
    says: ['{host}', 'closed'],
  },
  {
    what: 'resets: it resets in the middle of the message',
    far: { inBody: { afterBytes: 10, action: { do: 'reset' } } },
    comes: 'deferred',
    says: ['{host}'],
  },
  {
    what: 'unsure: it closes without an answer to the message',
    far: [{ dot: { do: 'close' } }, {}],
    comes: 'deferred',
    class: 'OutcomeUnknown',
    says: ['second copy'],
  },
  {
    what: 'once: it closes without an answer, and this sender sends at most once',
    far: { dot: { do: 'close' } },
    from: 'once.example',
    comes: 'failed',
    class: 'OutcomeUnknown',
    says: ['at most once'],
  },

  // ── relays ────────────────────────────────────────────────────────────────────────────────────────────────
  {
    what: 'misspelt: the name of the relay does not exist',
    relay: 'smtp://relay.misspelt.test:2525',
    comes: 'deferred',
    class: 'RelayUnresolved',
    says: ['relay.misspelt.test', 'does not exist', '`route'],
    path: 'relay.misspelt.test',
  },
  {
    what: 'relaydns: the name of the relay cannot be looked up',
    relay: 'smtp://relay.relaydns.test:2525',
    faults: { 'relay.relaydns.test': { kind: 'servfail' } },
    comes: 'deferred',
    class: 'RelayUnresolved',
    says: ['relay.relaydns.test', 'SERVFAIL', '`dns`'],
    path: 'relay.relaydns.test',
  },
  {
    what: 'relaydown: the relay does not run',
    far: 'none',
    relay: 'smtp://{ip}:{port}',
    comes: 'deferred',
    class: 'Unreachable',
    says: ['{ip}', 'relay'],
    path: '{ip}',
  },
  {
    what: 'password: the relay refuses the password',
    far: { capabilities: ['AUTH PLAIN'], auth: '535 5.7.8 Authentication credentials invalid' },
    relay: 'smtp://user:wrong@{ip}:{port}',
    comes: 'deferred',
    class: 'RelayLoginFailed',
    says: ['credentials invalid', 'password', '`route'],
    path: 'credentials invalid',
  },
  {
    what: 'login: the relay wants a login and has none',
    far: at('mail', '530 5.7.0 Authentication required'),
    relay: 'smtp://{ip}:{port}',
    comes: 'deferred',
    class: 'RelayLoginFailed',
    says: ['Authentication required', '`route'],
    path: 'Authentication required',
  },
  {
    what: 'noauth: the relay takes no login',
    far: {},
    relay: 'smtp://user:secret@{ip}:{port}',
    comes: 'deferred',
    class: 'RelayLoginFailed',
    says: ['login', '{ip}'],
  },
  {
    what: 'relaytls: the sender requires TLS, which the relay does not offer',
    far: {},
    relay: 'smtp://{ip}:{port}',
    from: 'strict.example',
    comes: 'deferred',
    class: 'TlsFailed',
    says: ['does not offer STARTTLS', 'RequireTls'],
  },

  // ── our own ───────────────────────────────────────────────────────────────────────────────────────────────
  {
    what: 'removed: the sender domain was removed',
    far: at('rcpt', '450 4.2.1 later'),
    from: 'gone.example',
    comes: 'held',
    says: ['gone.example is no longer registered', 'postrider domain add gone.example'],
  },
];
