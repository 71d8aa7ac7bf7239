// The one message every product is given, as a JSON request and as an SMTP message with the same content.
// Both are built once per connection; for each message only the eight digits of its id are written into the
// buffer, at offsets found at build time, so that the injector costs next to nothing beside the server.
// The text is 7-bit with lines of 72 characters: no product has to re-encode it, sizes at the sink are alike.

/** Bytes to send, and the places of the eight digits of the id and of the recipient's site. */
export type Template = {
  readonly bytes: Buffer;
  readonly idOffsets: readonly number[];
  readonly siteOffsets: readonly number[];
  /** Ids go through so many sites in turn; 0 = all to one domain. */
  readonly sites: number;
};

/** What the templates are made for. */
export type Content = { readonly bodyBytes: number; readonly recipients: number; readonly sites: number };

// Eight characters, as long as an id.
const ID_MARK = '@@ID@@##';
const SITE_MARK = '@@SITE##';
const CRLF = '\r\n';

/** The sender's domain: added to each product and named in every signature. */
export const SENDER_DOMAIN = 'example.com';

/** The domain of every recipient, or of the nth site: each is an organisation of its own. */
export function siteDomain(site: number | typeof SITE_MARK): string {
  return `s${String(site).padStart(SITE_MARK.length, '0')}.example`;
}

/** Addresses of all sites: a server opens only so many connections to each. */
export const SITE_ADDRESSES = 1_000;

/** The address of the nth site, where the sink listens too. */
export function siteAddress(site: number): string {
  const n = site % SITE_ADDRESSES;
  return `127.1.${Math.floor(n / 250)}.${(n % 250) + 1}`;
}

/** `reader-ID@`, `reader-ID-1@`, `reader-ID-2@`, … */
function readers({ recipients, sites }: Content): [string, ...string[]] {
  const domain = sites === 0 ? 'example.net' : siteDomain(SITE_MARK);
  const others = Array.from({ length: recipients - 1 }, (_, n) => `reader-${ID_MARK}-${n + 1}@${domain}`);
  return [`reader-${ID_MARK}@${domain}`, ...others];
}

/** Which of a message's recipients a command RCPT names. */
export function readerOf(command: string): number {
  return Number(/reader-\d+-(\d+)@/.exec(command)?.[1] ?? 0);
}

/**
 * Builds the request of so many messages, each with its id in To, Subject and X-Bench-Id: `POST /api/v1/email` for one,
 * `/email/batch` for more; keep-alive, Content-Length. One template for each message, all over the same bytes.
 */
export function httpTemplates(
  { port, token }: { port: number; token: string },
  content: Content,
  messages: number,
): Template[] {
  const { bodyBytes, sites } = content;
  const [reader, ...hidden] = readers(content);
  const { plain, html } = bodies(bodyBytes, '\n');
  const message = {
    From: { name: 'Example Shop', email: `orders@${SENDER_DOMAIN}` },
    To: [{ name: 'A Reader', email: reader }],
    ...(hidden.length === 0 ? {} : { Bcc: hidden.map((email) => ({ email })) }),
    Subject: `Your order ${ID_MARK} is on its way`,
    ContentType: 'HTML',
    HTMLContent: html,
    PlainContent: plain,
    Headers: { 'X-Bench-Id': ID_MARK },
  };
  const body = JSON.stringify(messages === 1 ? message : { Messages: Array(messages).fill(message) });
  const head = [
    `POST /api/v1/email${messages === 1 ? '' : '/batch'} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    '',
  ].join(CRLF);
  const whole = template(head + body, sites);
  const part = (offsets: readonly number[], i: number): number[] =>
    offsets.slice((i * offsets.length) / messages, ((i + 1) * offsets.length) / messages);
  return Array.from({ length: messages }, (_, i) => ({
    ...whole,
    idOffsets: part(whole.idOffsets, i),
    siteOffsets: part(whole.siteOffsets, i),
  }));
}

/** Builds the SMTP message: envelope (MAIL, RCPT, DATA in one write) and content with the final dot. */
export function smtpTemplates(wanted: Content): { envelope: Template; content: Template } {
  const { bodyBytes, sites } = wanted;
  const all = readers(wanted);
  const { plain, html } = bodies(bodyBytes, CRLF);
  const boundary = '=_bench_2f6c1d';
  const envelope = [
    `MAIL FROM:<orders@${SENDER_DOMAIN}>`,
    ...all.map((reader) => `RCPT TO:<${reader}>`),
    'DATA',
    '',
  ].join(CRLF);
  const content = [
    `From: Example Shop <orders@${SENDER_DOMAIN}>`,
    `To: A Reader <${all[0]}>`,
    `Subject: Your order ${ID_MARK} is on its way`,
    `Message-ID: <${ID_MARK}@${SENDER_DOMAIN}>`,
    `Date: ${new Date().toUTCString().replace('GMT', '+0000')}`,
    'MIME-Version: 1.0',
    `X-Bench-Id: ${ID_MARK}`,
    `Content-Type: multipart/alternative; boundary="${boundary}"`,
    '',
    `--${boundary}`,
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: 7bit',
    '',
    plain,
    `--${boundary}`,
    'Content-Type: text/html; charset=utf-8',
    'Content-Transfer-Encoding: 7bit',
    '',
    html,
    `--${boundary}--`,
    '.',
    '',
  ].join(CRLF);
  return { envelope: template(envelope, sites), content: template(content, sites) };
}

/** Writes `id` into every place of the template (in place: the earlier bytes must already be sent). */
export function stampId(target: Template, id: number): void {
  const write = (value: number, offsets: readonly number[]): void => {
    const digits = String(value).padStart(ID_MARK.length, '0');
    for (const offset of offsets) target.bytes.write(digits, offset, 'latin1');
  };
  write(id, target.idOffsets);
  if (target.siteOffsets.length > 0) write(id % target.sites, target.siteOffsets);
}

function template(text: string, sites: number): Template {
  const bytes = Buffer.from(text, 'latin1');
  return { bytes, idOffsets: placesOf(bytes, ID_MARK), siteOffsets: placesOf(bytes, SITE_MARK), sites };
}

function placesOf(bytes: Buffer, mark: string): number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + 1)) places.push(at);
  return places;
}

/** A third plain text, two thirds HTML; words vary so that no product profits from repetition. */
function bodies(bodyBytes: number, newline: string): { plain: string; html: string } {
  const plainBytes = Math.floor(bodyBytes / 3);
  const plain = text(plainBytes, newline, '', '');
  const open = `<html><body><h1>Thank you</h1>${newline}`;
  const close = `</body></html>`;
  const html =
    open + text(bodyBytes - plainBytes - open.length - close.length, newline, '<p>', '</p>') + close;
  return { plain, html };
}

const WORDS = [
  'order',
  'parcel',
  'arrives',
  'within',
  'days',
  'number',
  'street',
  'thank',
  'you',
  'for',
  'reading',
];

function text(size: number, newline: string, open: string, close: string): string {
  let out = '';
  let word = 0;
  while (out.length < size) {
    let line = open;
    while (line.length < 72 - close.length - 8) {
      line += `${WORDS[(word * 7 + (word >> 3)) % WORDS.length] ?? 'order'} `;
      word += 1;
    }
    out += `${line.trimEnd()}${close}${newline}`;
  }
  return out;
}
