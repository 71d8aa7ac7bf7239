// The one message every product is given, as a JSON request and as an SMTP message with the same content.
// Both are built once per connection; for each message only the eight digits of its id are written into the
// buffer, at offsets found at build time, so that the injector costs next to nothing beside the server.
// The text is 7-bit with lines of 72 characters: no product has to re-encode it, sizes at the sink are alike.

/** Bytes to send and the places where the id's eight digits stand. */
export type Template = { readonly bytes: Buffer; readonly idOffsets: readonly number[] };

const ID_MARK = '@@ID@@##'; // eight characters, as long as an id
const CRLF = '\r\n';

/** The sender's domain: added to each product and named in every signature. */
export const SENDER_DOMAIN = 'example.com';

/**
 * Builds the request of so many messages, each with its id in To, Subject and X-Bench-Id: `POST /api/v1/email` for one,
 * `/email/batch` for more; keep-alive, Content-Length. One template for each message, all over the same bytes.
 */
export function httpTemplates(port: number, token: string, bodyBytes: number, messages: number): Template[] {
  const { plain, html } = bodies(bodyBytes, '\n');
  const message = {
    From: { name: 'Example Shop', email: `orders@${SENDER_DOMAIN}` },
    To: [{ name: 'A Reader', email: `reader-${ID_MARK}@example.net` }],
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
  const { bytes, idOffsets } = template(head + body);
  const each = idOffsets.length / messages;
  return Array.from({ length: messages }, (_, i) => ({
    bytes,
    idOffsets: idOffsets.slice(i * each, (i + 1) * each),
  }));
}

/** Builds the SMTP message: envelope (MAIL, RCPT, DATA in one write) and content with the final dot. */
export function smtpTemplates(bodyBytes: number): { envelope: Template; content: Template } {
  const { plain, html } = bodies(bodyBytes, CRLF);
  const boundary = '=_bench_2f6c1d';
  const envelope = [
    `MAIL FROM:<orders@${SENDER_DOMAIN}>`,
    `RCPT TO:<reader-${ID_MARK}@example.net>`,
    'DATA',
    '',
  ].join(CRLF);
  const content = [
    `From: Example Shop <orders@${SENDER_DOMAIN}>`,
    `To: A Reader <reader-${ID_MARK}@example.net>`,
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
  return { envelope: template(envelope), content: template(content) };
}

/** Writes `id` into every place of the template (in place: the earlier bytes must already be sent). */
export function stampId(target: Template, id: number): void {
  const digits = String(id).padStart(ID_MARK.length, '0');
  for (const offset of target.idOffsets) target.bytes.write(digits, offset, 'latin1');
}

function template(text: string): Template {
  const bytes = Buffer.from(text, 'latin1');
  const idOffsets: number[] = [];
  for (let at = bytes.indexOf(ID_MARK); at >= 0; at = bytes.indexOf(ID_MARK, at + 1)) idOffsets.push(at);
  return { bytes, idOffsets };
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
