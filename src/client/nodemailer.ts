/**
 * A transport for Nodemailer that sends through the API: an application keeps its `transporter.sendMail(...)` and gains
 * idempotency, tags and one-time-code priority. Nodemailer reads files, streams and addresses; this maps its fields.
 *
 *     const transporter = nodemailer.createTransport(postriderTransport({ baseUrl, token }));
 *     await transporter.sendMail({ from: 'Shop <shop@example.com>', to, subject, html, postrider: { Tags: ['receipt'] } });
 *
 * Fields that the API does not have (`REFUSED`) are an error, so that none is dropped silently: send such mail by SMTP
 * submission.
 */
import type { CallOptions, ClientOptions } from './caller.ts';
import { createPostrider, type Postrider } from './client.ts';
import type { Address, Attachment, SendRequest } from './requests.ts';

/** What only the API knows, given as `postrider: {…}` beside Nodemailer's own fields. */
export type ExtraFields = Omit<
  SendRequest,
  | 'From'
  | 'To'
  | 'CC'
  | 'BCC'
  | 'ReplyTo'
  | 'Subject'
  | 'ContentType'
  | 'HTMLContent'
  | 'PlainContent'
  | 'Headers'
  | 'Attachments'
> & { idempotencyKey?: string };

/** What `sendMail` resolves to. */
export interface SentInfo {
  /** The server's MessageID. */
  messageId: string;
  accepted: string[];
  rejected: string[];
  envelope: { from: string; to: string[] };
  response: string;
}

interface NodemailerAddress {
  name?: string;
  address?: string;
  group?: readonly NodemailerAddress[];
}

/** What stands in `icalEvent`, beside the text alone. */
interface NormalisedEvent {
  content?: string | Uint8Array;
  encoding?: string;
  filename?: string | false;
}

interface NormalisedAttachment {
  filename?: string | false;
  content?: string | Uint8Array;
  encoding?: string;
  contentType?: string;
  contentDisposition?: string;
  cid?: string;
  headers?: unknown;
  raw?: unknown;
}

/** Nodemailer's `mail.data` after `normalize`: addresses parsed, files read. */
interface NormalisedMail {
  from?: NodemailerAddress | null;
  to?: readonly NodemailerAddress[] | null;
  cc?: readonly NodemailerAddress[] | null;
  bcc?: readonly NodemailerAddress[] | null;
  replyTo?: readonly NodemailerAddress[] | null;
  subject?: string;
  text?: string;
  html?: string;
  attachments?: readonly NormalisedAttachment[];
  icalEvent?: string | Uint8Array | NormalisedEvent;
  normalizedHeaders?: Readonly<Record<string, unknown>>;
  priority?: string;
  postrider?: ExtraFields;
}

interface MailMessage {
  data: Readonly<Record<string, unknown>>;
  normalize(done: (error: Error | null, data?: NormalisedMail) => void): void;
}

/** Nodemailer's fields that the API does not have; looked for before Nodemailer adds defaults of its own. */
const REFUSED = [
  'raw',
  'envelope',
  'messageId',
  'date',
  'sender',
  'alternatives',
  'amp',
  'watchHtml',
  'dkim',
] as const;

/** X-Priority and similar fields, as Nodemailer writes them. */
const PRIORITY_HEADERS = {
  high: { 'X-Priority': '1 (Highest)', Importance: 'High' },
  low: { 'X-Priority': '5 (Lowest)', Importance: 'Low' },
} as const;

/** A transport for `nodemailer.createTransport`, from a client or the options of one. */
export function postriderTransport(client: Postrider | ClientOptions) {
  const postrider = 'baseUrl' in client ? createPostrider(client) : client;
  return {
    name: 'postrider',
    version: '1',
    send(mail: MailMessage, done: (error: Error | null, info?: SentInfo) => void): void {
      const refused = REFUSED.find((name) => mail.data[name] !== undefined);
      if (refused !== undefined) {
        done(
          new TypeError(
            `postrider: "${refused}" does not travel by the API; send this mail by SMTP submission`,
          ),
        );
        return;
      }
      mail.normalize((error, data) => {
        if (error !== null || data === undefined) {
          done(error ?? new Error('Nodemailer gave no message'));
          return;
        }
        submit(postrider, data, methodOf(mail.data.icalEvent)).then(
          (info) => done(null, info),
          (cause: unknown) => done(cause instanceof Error ? cause : new Error(String(cause))),
        );
      });
    },
    verify,
  };

  /** Whether the server answers and takes the token: by the callback, or without one by a promise. */
  function verify(): Promise<true>;
  function verify(done: (error: Error | null, success?: true) => void): void;
  function verify(done?: (error: Error | null, success?: true) => void): Promise<true> | undefined {
    const asked = postrider.me().then(() => true as const);
    if (done === undefined) return asked;
    asked.then(
      () => done(null, true),
      (cause: unknown) => done(cause as Error),
    );
    return undefined;
  }
}

async function submit(postrider: Postrider, data: NormalisedMail, method: string): Promise<SentInfo> {
  const { idempotencyKey, ...extra } = data.postrider ?? {};
  const message = { ...toRequest(data, method), ...extra };
  const call: CallOptions = idempotencyKey === undefined ? {} : { idempotencyKey };
  const { MessageID } = await postrider.send(message, call);
  const to = [...message.To, ...(message.CC ?? []), ...(message.BCC ?? [])].map(({ email }) => email);
  return {
    messageId: MessageID,
    accepted: to,
    rejected: [],
    envelope: { from: message.From.email, to },
    response: `200 ${MessageID}`,
  };
}

function toRequest(data: NormalisedMail, method: string): SendRequest {
  const [from] = addresses(data.from);
  if (from === undefined) throw new TypeError('postrider: from is missing');
  const headers = headersOf(data);
  return {
    From: from,
    To: addresses(data.to),
    ...listOf('CC', addresses(data.cc)),
    ...listOf('BCC', addresses(data.bcc)),
    ...listOf('ReplyTo', addresses(data.replyTo)),
    ...(data.subject === undefined ? {} : { Subject: data.subject }),
    ...(data.html === undefined ? {} : { HTMLContent: data.html }),
    ...(data.text === undefined ? {} : { PlainContent: data.text }),
    ...(Object.keys(headers).length === 0 ? {} : { Headers: headers }),
    ...listOf('Attachments', [
      ...(data.attachments ?? []).map(attachment),
      ...(data.icalEvent === undefined ? [] : invitation(data.icalEvent, method)),
    ]),
  };
}

/** A group (`Team: a@example.net, b@example.net;`) counts as its members. */
function addresses(given: NodemailerAddress | readonly NodemailerAddress[] | null | undefined): Address[] {
  if (given === undefined || given === null) return [];
  const list: readonly NodemailerAddress[] = 'length' in given ? given : [given];
  return list.flatMap(({ name, address, group }) =>
    group === undefined
      ? [{ email: address ?? '', ...(name === undefined || name === '' ? {} : { name }) }]
      : addresses(group),
  );
}

function listOf<Name extends string, Item>(
  name: Name,
  items: readonly Item[],
): Partial<Record<Name, readonly Item[]>> {
  if (items.length === 0) return {};
  const list: Partial<Record<Name, readonly Item[]>> = {};
  list[name] = items;
  return list;
}

function headersOf({ normalizedHeaders = {}, priority = '' }: NormalisedMail): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(normalizedHeaders)) headers[name] = String(value);
  const level = priority.toLowerCase();
  if (level === 'high' || level === 'low') Object.assign(headers, PRIORITY_HEADERS[level]);
  return headers;
}

/** Read before Nodemailer resolves a file or URL, which leaves the text alone. */
function methodOf(event: unknown): string {
  const method = (event as { method?: unknown } | null | undefined)?.method;
  return String(method ?? 'PUBLISH')
    .trim()
    .toUpperCase();
}

/** As Nodemailer sends it: a form of the text, with the buttons of its method, and the same as a file. */
function invitation(event: NonNullable<NormalisedMail['icalEvent']>, method: string): Attachment[] {
  const { filename, ...rest }: NormalisedEvent =
    typeof event === 'string' || event instanceof Uint8Array ? { content: event } : event;
  const file = { ...rest, filename: filename || 'invite.ics' };
  return [
    {
      ...attachment({ ...file, contentType: `text/calendar; charset=utf-8; method=${method}` }, 0),
      Disposition: 'inline',
    },
    attachment({ ...file, contentType: 'application/ics' }, 0),
  ];
}

function attachment(file: NormalisedAttachment, index: number): Attachment {
  if (file.raw !== undefined) {
    throw new TypeError(
      'postrider: an attachment given as raw does not travel by the API; use SMTP submission',
    );
  }
  const content = file.content ?? '';
  const isBase64 = typeof content === 'string' && file.encoding?.toLowerCase() === 'base64';
  const inline = file.contentDisposition === 'inline' || file.cid !== undefined;
  return {
    Filename:
      typeof file.filename === 'string' && file.filename !== '' ? file.filename : `attachment-${index + 1}`,
    Content: typeof content === 'string' && !isBase64 ? new TextEncoder().encode(content) : content,
    ...(file.contentType === undefined ? {} : { Type: file.contentType }),
    ...(inline && file.cid !== undefined ? { Disposition: 'inline', ContentId: file.cid } : {}),
  };
}
