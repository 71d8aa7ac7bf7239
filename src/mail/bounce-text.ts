/**
 * Bounces written for people, as Exim, qmail, Postfix, Sendmail, Exchange, Lotus, Google and others send them without
 * an RFC 3464 report. Takes a message; returns the same as `readDsn`, or null if it is none. A form is recognised by
 * phrases that only its program writes, never by a mere mention of failure. In other forms and languages, what a mail
 * system sends is a bounce of the addresses that it names with a code. One pass over at most 64 KiB and 1000 lines; the
 * copy of the original message is not read.
 */
import { answersBySubject, isAutoReplied } from './auto-reply.ts';
import { textIn } from './decode-words.ts';
import type { DsnAction, DsnRecipient, DsnReport } from './dsn.ts';
import { behindForwarding, isFromMailSystem, isPassedOn, returnedFields } from './dsn.ts';
import { bodyOf, fieldOf, type MimePart, ownParts } from './mime-tree.ts';
import { readableText, textOfOctets } from './readable-text.ts';

/** Each of these phrases, in lower case, identifies a form. */
const FORMS: Readonly<Record<string, readonly string[]>> = {
  exim: ['this message was created automatically by mail delivery software'],
  qmail: ['this is the qmail-send program', 'this is the machine generated message from mail service'],
  postfix: ['this is the mail system at host', 'this is the postfix program at host'],
  sendmail: [
    'the following addresses had permanent fatal errors',
    'the following addresses had transient non-fatal errors',
    'the following addresses had permanent delivery errors',
  ],
  exchange: [
    'delivery has failed to these recipients',
    'did not reach some or all of the intended recipients',
    'the following recipient(s) could not be reached',
    'fehler bei der nachrichtenzustellung an folgende',
    'échec de la remise à ces destinataires',
    'error de entrega a estos destinatarios',
    'recapito non riuscito per questi destinatari',
    'falha na entrega para estes destinatários',
  ],
  google: [
    'delivery to the following recipient failed permanently',
    'delivery to the following recipients failed permanently',
    "your message wasn't delivered to",
    'your message wasn’t delivered to',
  ],
  yahoo: ['sorry, we were unable to deliver your message to the following address'],
  opensmtpd: ['this is the mailer-daemon, please do not reply to this email'],
  mdaemon: ['message had permanent fatal delivery errors'],
  ses: ['an error occurred while trying to deliver the mail to the following recipients'],
  groupwise: ['the message that you sent was undeliverable to the following'],
  lotus: [
    'was not delivered to:',
    'failed to deliver to domain directory',
    'user not listed in domino directory',
  ],
};

/** Delivery was not given up yet. */
const DELAYED = [
  'this is a warning message only',
  'this is a warning only',
  'has not yet been delivered',
  'could not be delivered for more than',
  'transient non-fatal errors',
  'delivery is delayed to these recipients',
  'this is only a temporary failure report',
];

/** OpenSMTPD calls the report of mail that it gave up a delay. */
const EXPIRED = /\benvelope expired\b/i;

/** After these lines the original message is repeated. */
const ORIGINAL = [
  '--- below this line is a copy of the message',
  'this is a copy of the message, including all the headers',
  'this is a copy of your message',
  'this is a copy of the original message',
  '----- original message',
  '---- original message follows',
  'original message headers:',
  '--- the header of the original message',
  '----- message header follows',
  '----- unsent message follows',
  '\nreturn-path: ',
  '\nreceived: from ',
];

const MAX_TEXT = 64 * 1024;
const MAX_LINES = 1000;
const MAX_LINE = 1000;
const MAX_RECIPIENTS = 50;
const MAX_DIAGNOSTIC = 1024;
const ADDRESS = /[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9.-]{1,253}/;
/** Exim writes it for each address that a forwarding keeps to itself. */
const UNDISCLOSED = 'an undisclosed address';
/** A line that names a recipient, maybe followed by the reason: `<a@b>:`, `  a@b`, `'a@b' on …`. */
const RECIPIENT_LINE =
  /^[ \t]{0,16}(?:to: )?[<'"(]{0,2}([A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9.-]{1,253}|an undisclosed address)[>'")]{0,2}(?:<mailto:[^<>\s]{1,330}>)?(?::|\s|$)/i;
/** Below the address that was refused: the one that had been forwarded to it, as Exim, Sendmail and Postfix write it. */
const FORWARDED_FROM =
  /\((?:ultimately )?(?:generated|expanded) from:? <?([^\s<>()]{1,64}@[A-Za-z0-9.-]{1,253})>?\):?/i;
/** How Sendmail quotes the reason. */
const QUOTED_REASON = /^\(reason: (.+)\)$/i;
/** `550 5.1.1 …`, `550-5.1.1 …`, `#550 5.1.1 …`. */
const REPLY = /(?:^|[^0-9.])([45]\d\d)[ \-#]{1,3}([45]\.\d{1,3}\.\d{1,3})?/;
const STATUS = /(?:^|[^0-9.])([45]\.\d{1,3}\.\d{1,3})(?![0-9.])/;
/** How texts of one kind name a recipient, and a reply or an enhanced code alone. */
interface Naming {
  line: RegExp;
  reply: RegExp;
  status: RegExp;
}
const IN_KNOWN_FORM: Naming = { line: RECIPIENT_LINE, reply: REPLY, status: STATUS };
/**
 * An address anywhere in a line, after a label in any language: `收件人：a@b`. A reply has an enhanced code, or stands where
 * a quotation begins, so that `550 KB` and `500 Main Street` are none; nor is a date or a version an enhanced code.
 */
const IN_ANY_FORM: Naming = {
  line: new RegExp(`(?!['\`])(${ADDRESS.source})`),
  reply:
    /(?:^|[^0-9.])([45]\d\d)(?:[ \-#]{1,3}([45]\.\d{1,3}\.\d{1,3})|(?<=(?:[:：'"<>#\])]|\b(?:error|code|status|said|says|reply|response))[ \t]{0,3}\d{3})[ -](?![\d-]|[kmg]i?b\b|bytes\b))/i,
  status: /(?:[#([:：]|\b(?:status|code|error|dsn))[ \t]{0,3}#?([45]\.\d{1,3}\.\d{1,3})(?![0-9.])/i,
};

/** The bounce in `mail`, or null. */
export function readTextBounce(mail: MimePart): DsnReport | null {
  const whole = firstText(mail);
  const lower = whole.toLowerCase();
  // A person's answer may repeat a report that they received, but it is still an answer.
  if (answersBySubject(mail) || isPassedOn(mail)) return null;
  const failedHeader = fieldOf(mail, 'x-failed-recipients');
  const isKnown = Object.values(FORMS).some((phrases) => phrases.some((phrase) => lower.includes(phrase)));
  const isOfProgram = isFromMailSystem(mail) && !isAutoReplied(mail);
  const text = whole.slice(0, cutAt(lower));
  const action: DsnAction = DELAYED.some((phrase) => lower.includes(phrase)) ? 'delayed' : 'failed';
  const found = isKnown || failedHeader !== null ? recipientsIn(text, action, IN_KNOWN_FORM) : [];
  for (const address of headerAddresses(failedHeader)) {
    if (found.length < MAX_RECIPIENTS && !found.some((one) => one.finalRecipient === address))
      found.push(recipient(address, '', action, IN_KNOWN_FORM));
  }
  if (found.length === 0) {
    const recipients = isKnown || isOfProgram ? codedRecipientsIn(mail, text, action) : [];
    return recipients.length === 0 ? null : { reportingMta: '', recipients, returned: returnedFields(mail) };
  }
  const recipients = found.map((one) => {
    if (one.diagnostic === '') return withWords(one, wordsOf(text, IN_KNOWN_FORM), IN_KNOWN_FORM);
    if (one.status !== null || one.isSmtp || found.length > 1) return one;
    // The reason is in plain words beside the address, and the code is further below.
    const coded = withWords(one, wordsOf(text, IN_KNOWN_FORM), IN_KNOWN_FORM);
    return coded.status === null ? one : coded;
  });
  return { reportingMta: '', recipients, returned: returnedFields(mail) };
}

/**
 * What a text in an unknown form or language says: each address with a code beside it, or the one address with the code
 * of the text. A temporary code alone does not say that the delivery was given up.
 */
function codedRecipientsIn(mail: MimePart, text: string, given: DsnAction): DsnRecipient[] {
  const ours = `${fieldOf(mail, 'from') ?? ''} ${fieldOf(mail, 'to') ?? ''}`.toLowerCase();
  const named = recipientsIn(text, given, IN_ANY_FORM).filter(
    ({ finalRecipient }) => !ours.includes((finalRecipient ?? '').toLowerCase()),
  );
  const [only] = named;
  const read =
    only !== undefined && named.length === 1 && !isCoded(only)
      ? [withWords(only, wordsOf(text, IN_ANY_FORM), IN_ANY_FORM)]
      : named;
  return read.filter(isCoded).map((one) => ({ ...one, action: /^4/.test(codeOf(one)) ? 'delayed' : given }));
}

/** The enhanced code, or the reply code without one. */
function codeOf({ status, diagnostic, isSmtp }: DsnRecipient): string {
  return status ?? (isSmtp ? diagnostic : '');
}

function isCoded(one: DsnRecipient): boolean {
  return codeOf(one) !== '';
}

/**
 * A report with what only its text for people says: Exim writes there alone which address it had forwarded the mail to, and
 * Exim, Sendmail and OpenSMTPD the reason of what failed at their own host.
 */
export function withReasonsOf(mail: MimePart, report: DsnReport): DsnReport {
  const told = new Map<string | null, DsnRecipient[]>();
  for (const one of readTextBounce(mail)?.recipients ?? []) {
    for (const key of new Set([keyOf(one.finalRecipient), keyOf(one.originalRecipient)]))
      if (key !== null) told.set(key, [...(told.get(key) ?? []), one]);
  }
  return { ...report, recipients: report.recipients.map((one) => withTextOf(one, told)) };
}

function withTextOf(one: DsnRecipient, told: ReadonlyMap<string | null, DsnRecipient[]>): DsnRecipient {
  const named = keyOf(one.finalRecipient);
  const about = told.get(named) ?? told.get(keyOf(one.originalRecipient));
  // Of several behind one address, which the text names in the order of the report, each once.
  const found = about !== undefined && about.length > 1 ? about.shift() : about?.[0];
  if (found === undefined) return one;
  const isOrigin = named !== null && keyOf(found.originalRecipient) === named;
  const read = isOrigin ? behindForwarding(one, found.finalRecipient) : one;
  if (one.diagnostic !== '' || found.action !== one.action) return read;
  const { diagnostic, isSmtp } = found;
  const action = EXPIRED.test(diagnostic) ? 'failed' : one.action;
  return { ...read, action, diagnostic, isSmtp, status: found.status ?? one.status };
}

function keyOf(address: string | null): string | null {
  return address?.toLowerCase() ?? null;
}

function firstText(mail: MimePart): string {
  let html = '';
  for (const part of ownParts(mail)) {
    const plain = part.type === 'text/plain' ? textOf(part) : '';
    if (plain.trim() !== '') return readableText(plain);
    if (part.type === 'text/html' && html === '') html = textOf(part);
  }
  // Good enough to find phrases and codes: each tag counts as a line end.
  return readableText(
    html
      .replace(/<[^<>]{0,500}>/g, '\n')
      .replaceAll('&nbsp;', ' ')
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>'),
  );
}

function textOf(part: MimePart): string {
  const body = bodyOf(part, MAX_TEXT);
  const charset = (part.parameters.get('charset') ?? 'utf-8').toLowerCase();
  const isUsual = charset === 'utf-8' || charset === 'us-ascii';
  return (isUsual ? null : textIn(charset, body)) ?? textOfOctets(body);
}

function cutAt(lower: string): number {
  let end = lower.length;
  for (const phrase of ORIGINAL) {
    const at = lower.indexOf(phrase);
    if (at !== -1 && at < end) end = at;
  }
  return end;
}

/**
 * Each line that names a recipient by `naming` with the lines below it, up to an empty one, as its reason. Of several about
 * one address the first with a code counts.
 */
function recipientsIn(text: string, action: DsnAction, naming: Naming): DsnRecipient[] {
  const found: DsnRecipient[] = [];
  let address: string | null = null;
  let words = '';
  const keep = (): void => {
    const known = address === UNDISCLOSED ? -1 : found.findIndex((one) => one.finalRecipient === address);
    if (address !== null && known === -1 && found.length < MAX_RECIPIENTS)
      found.push(recipient(address, words, action, naming));
    else if (address !== null && known !== -1 && !isCoded(found[known] as DsnRecipient)) {
      const again = recipient(address, words, action, naming);
      if (isCoded(again)) found[known] = again;
    }
    address = null;
  };
  for (const raw of text.split('\n', MAX_LINES)) {
    const line = raw.slice(0, MAX_LINE);
    const match = naming.line.exec(line);
    // The same address directly below is a wrapped line of the reason.
    if (match !== null && (match[1] !== address || address === UNDISCLOSED)) {
      keep();
      address = match[1] as string;
      // The code may be before the address.
      words = (naming === IN_ANY_FORM ? line : line.slice(match[0].length)).trim();
    } else if (line.trim() === '') keep();
    else if (address !== null && words.length < MAX_DIAGNOSTIC) words += ` ${line.trim()}`;
  }
  keep();
  return found;
}

function headerAddresses(value: string | null): string[] {
  if (value === null) return [];
  return value
    .split(',', MAX_RECIPIENTS)
    .map((item) => ADDRESS.exec(item.trim().slice(0, 400))?.[0] ?? '')
    .filter((address) => address !== '');
}

function recipient(address: string, words: string, action: DsnAction, naming: Naming): DsnRecipient {
  const empty: DsnRecipient = {
    action,
    status: null,
    diagnostic: '',
    isSmtp: false,
    finalRecipient: address,
    originalRecipient: FORWARDED_FROM.exec(words)?.[1] ?? null,
    remoteMta: '',
  };
  return withWords(empty, words, naming);
}

/** The reason from its SMTP reply on, if it contains one. */
function withWords(one: DsnRecipient, given: string, naming: Naming): DsnRecipient {
  const text = given.replace(/\s+/g, ' ').trim().slice(0, MAX_DIAGNOSTIC);
  const words = text.replace(FORWARDED_FROM, '').trim().replace(QUOTED_REASON, '$1');
  const reply = naming.reply.exec(words);
  const status = reply?.[2] ?? naming.status.exec(words)?.[1] ?? null;
  const at = reply === null ? 0 : words.indexOf(reply[1] as string, reply.index);
  const diagnostic = words.slice(at).replace(/^([45]\d\d)[ \-#]{1,3}/, '$1 ');
  return { ...one, status, diagnostic, isSmtp: reply !== null };
}

/** If the recipient's own lines say nothing: the lines with a code or a reason, from anywhere in the text. */
function wordsOf(text: string, { reply, status }: Naming): string {
  const lines = text.split('\n', MAX_LINES).map((line) => line.slice(0, MAX_LINE).trim());
  const coded = lines.findIndex((line) => reply.test(line) || status.test(line));
  if (coded !== -1) return lines.slice(coded, coded + 3).join(' ');
  const because = lines.findIndex((line) => /^because:?$/i.test(line));
  return because === -1 ? '' : (lines.slice(because + 1).find((line) => line !== '') ?? '');
}
