/**
 * What can go wrong at a far end, as data: each trouble has a begin and an end on the monotonic clock. `share`: the
 * part of messages, recipients or connections that it affects; `most`: the number above which it applies. The replies
 * have the wording of real servers, so the classifier is part of the simulation.
 */
export type TroubleKind =
  // before anything is said
  | 'refuses'
  | 'black-hole'
  // at the greeting
  | 'greets-554'
  | 'greets-421'
  | 'mute'
  | 'few-connections'
  // at STARTTLS, which is offered then
  | 'tls-refused'
  | 'tls-reset'
  | 'tls-421'
  // in the handshake, and behind it
  | 'tls-broken'
  | 'tls-mute'
  | 'tls-dies'
  // at AUTH
  | 'login-refused'
  // at MAIL
  | 'few-messages'
  | 'slow-down'
  | 'blocklisted'
  // at RCPT
  | 'greylists'
  | 'unknown-users'
  | 'full-mailboxes'
  | 'lookup-failures'
  | 'few-recipients'
  // in and after DATA
  | 'drops-in-data'
  | 'drops-after-dot'
  | 'mute-after-dot'
  | 'dislikes-content'
  // at BDAT, which is offered
  | 'bdat-refused'
  | 'bdat-twice'
  | 'bdat-unanswered'
  // all the time
  | 'tarpits';

export interface Trouble {
  kind: TroubleKind;
  fromMs: number;
  untilMs: number;
  share: number;
  most: number;
}

/** Of sites that do TLS. */
export const TLS_TROUBLES: readonly TroubleKind[] = [
  'tls-refused',
  'tls-reset',
  'tls-421',
  'tls-broken',
  'tls-mute',
  'tls-dies',
];

/** `path`: no message pays for it. */
export interface Refusal {
  text: string;
  about: 'path' | 'message';
}

export const REFUSALS = {
  'greets-554': { text: '554 mx.test no SMTP service here', about: 'path' },
  'greets-421': { text: '421 4.3.2 mx.test service not available', about: 'path' },
  'few-connections': { text: '421 4.7.0 Too many open connections, come back later', about: 'path' },
  'few-messages': {
    text: '421 4.7.0 Max message per connection reached, closing transmission channel',
    about: 'path',
  },
  'slow-down': { text: '450 4.7.1 You are sending too many messages, slow down', about: 'path' },
  blocklisted: {
    text: '554 5.7.1 Service unavailable; Client host [20.0.0.1] blocked using zen.spamhaus.org',
    about: 'path',
  },
  greylists: {
    text: '450 4.2.0 Recipient address rejected: Greylisted, see http://postgrey.schweikert.ch',
    about: 'message',
  },
  'unknown-users': {
    text: '550 5.1.1 Recipient address rejected: User unknown in local recipient table',
    about: 'message',
  },
  'full-mailboxes': { text: '552 5.2.2 The mailbox is over quota', about: 'message' },
  'lookup-failures': { text: '451 4.3.0 Temporary lookup failure', about: 'message' },
  'few-recipients': { text: '452 4.5.3 Too many recipients', about: 'path' },
  'dislikes-content': { text: '554 5.7.1 This message has been identified as spam', about: 'message' },
} as const satisfies Partial<Record<TroubleKind, Refusal>>;
