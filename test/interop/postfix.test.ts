/**
 * Through a real Postfix into a Maildir, and read back: what was posted is what lies there, and the signature still
 * holds. Reported as skipped if Postfix is not installed.
 */
import PostalMime from 'postal-mime';
import { beforeAll, describe, expect, it } from 'vitest';
import { makeCertificates } from '../fakes/certificates.ts';
import { freePort, type OwnPostfix, postfixMissing, startOwnPostfix } from '../fakes/own-postfix.ts';
import { addDomain, fileScope, type Instance, startInstance, until } from '../scenarios/harness.ts';
import { dkimVerdict, readMail } from '../scenarios/signed-mail.ts';

const missing = postfixMissing();
if (missing !== null) process.stderr.write(`SKIPPED: delivery through a real Postfix: ${missing}\n`);
const scope = fileScope();

describe.skipIf(missing !== null)('delivery through a real Postfix', () => {
  const certificates = makeCertificates('mx.reader.example');
  let postfix: OwnPostfix;
  let server: Instance;
  let token: string;

  beforeAll(async () => {
    const returnsPort = await freePort();
    postfix = await startOwnPostfix({
      domain: 'reader.example',
      bounces: { domain: 'bounces.example.com', port: returnsPort },
      ...(certificates === null ? {} : { tls: certificates.selfSigned }),
    });
    scope.defer(() => postfix.stop());
    server = await startInstance(scope, {
      settings: {
        route: `smtp://127.0.0.1:${postfix.port}`,
        'bounce-domain': 'bounces.example.com',
        returns: `127.0.0.1:${returnsPort}`,
      },
    });
    token = await addDomain(server, 'example.com');
  });

  async function sendAndRead(fields: Record<string, unknown>): Promise<Buffer> {
    const id = await server.send(
      { To: [{ name: 'Reader', email: 'reader@reader.example' }], ...fields },
      { token },
    );
    const facts = await server.settled(id);
    expect(facts.Status, `${JSON.stringify(facts)}\n${postfix.log()}`).toBe('Delivered');
    return until(
      'the mail lies in the Maildir',
      () => postfix.mail().find((bytes) => bytes.includes(`Message-ID: <${id}@example.com>`)),
      20_000,
    );
  }

  it('keeps subject, contents, names and files, and the DKIM signature', async () => {
    const file = Buffer.from(Array.from({ length: 70_000 }, (_, i) => (i * 31 + (i >> 8)) % 256));
    const html = `<p>Grüße &amp; 世界</p>\n<pre>.\n..\nFrom the start\n${'long '.repeat(500)}</pre>`;
    const bytes = await sendAndRead({
      From: { name: 'Zoë Müller', email: 'zoe@example.com' },
      Subject:
        'Grüße, 世界 🎉 — ein ziemlich langer Betreff, der mehr als eine Zeile braucht, um ganz da zu stehen',
      HTMLContent: html,
      PlainContent: 'Grüße\n.\n..\nFrom here\n-- \nZoë',
      Headers: { 'X-Entity-Ref-ID': '4711' },
      Attachments: [
        {
          Content: file.toString('base64'),
          Type: 'application/pdf',
          Filename: 'Rechnung für März.pdf',
          Disposition: 'attachment',
        },
        {
          Content: 'iVBORw0KGgo=',
          Type: 'image/png',
          Filename: 'logo.png',
          Disposition: 'inline',
          ContentId: 'logo',
        },
      ],
    });
    const mail = await PostalMime.parse(new Uint8Array(bytes), { attachmentEncoding: 'arraybuffer' });
    expect(mail.subject).toContain('Grüße, 世界 🎉 — ein ziemlich langer Betreff');
    expect(mail.from).toMatchObject({ name: 'Zoë Müller', address: 'zoe@example.com' });
    const lines = (text: string | undefined) => text?.replaceAll('\r\n', '\n').trim();
    expect(lines(mail.html)).toBe(html.trim());
    expect(lines(mail.text)).toBe('Grüße\n.\n..\nFrom here\n-- \nZoë');
    const invoice = mail.attachments.find(({ filename }) => filename === 'Rechnung für März.pdf');
    expect(Buffer.from(invoice?.content as ArrayBuffer).equals(file)).toBe(true);
    expect(mail.attachments.find(({ contentId }) => contentId === '<logo>')?.disposition).toBe('inline');
    expect(await dkimVerdict(server, 'example.com', bytes)).toBe('pass');
  });

  it('uses an own return path and TLS where Postfix offers it', async () => {
    const bytes = await sendAndRead({ Subject: 'envelope' });
    const mail = readMail(bytes);
    expect(mail.header('return-path')[0]).toMatch(/^<[^@<>]+@bounces\.example\.com>$/);
    expect(mail.header('x-original-to').concat(mail.header('delivered-to'))).toContain(
      'reader@reader.example',
    );
    expect(mail.header('received')[0]).toContain('mail.postrider.test');
    if (certificates !== null) {
      const [message] = (await server.call('GET', '/email?Subject=envelope', { token })).json.Items;
      const { Items } = (await server.call('GET', `/email/${message.MessageID}/events`, { token })).json;
      expect(Items.at(-1).Tls).toMatch(/^TLSv1\.3/);
    }
  });

  it('takes many at once over few connections, each exactly once', async () => {
    const before = postfix.mail().length;
    const ids = await Promise.all(
      Array.from({ length: 60 }, (_, i) =>
        server.send({ To: [{ email: `r${i}@reader.example` }], Subject: `many ${i}` }, { token }),
      ),
    );
    for (const id of ids) expect((await server.settled(id)).Status).toBe('Delivered');
    await until('all lie in the Maildir', () => postfix.mail().length >= before + 60, 30_000);
    const subjects = postfix.mail().map((bytes) => readMail(bytes).header('subject')[0]);
    const many = subjects.filter((subject) => subject?.startsWith('many '));
    expect(many).toHaveLength(60);
    expect(new Set(many).size).toBe(60);
  });

  it('tells a refusal of Postfix as a bounce with its reply', async () => {
    const id = await server.send({ To: [{ email: 'nobody@reader.example' }] }, { token });
    const facts = await server.settled(id);
    expect(facts.Recipients[0], postfix.log()).toMatchObject({
      Status: 'Bounced',
      LastResponse: expect.stringContaining('no such mailbox'),
    });
  });

  it('takes its report of a mailbox that is gone: delivered, then bounced, and suppressed', async () => {
    const id = await server.send({ To: [{ email: 'gone@reader.example' }] }, { token });
    const events = await until(
      'the report came back',
      async () => {
        const { Items } = (await server.call('GET', `/email/${id}/events`, { token })).json;
        return Items.some(({ Event }: { Event: string }) => Event === 'bounced') ? Items : null;
      },
      30_000,
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${postfix.log()}`);
    });
    expect(events.map(({ Event }: { Event: string }) => Event)).toEqual([
      'accepted',
      'delivered',
      'bounced',
      'suppression_added',
    ]);
    expect(events[2].Bounce).toMatchObject({
      Phase: 'Async',
      Class: 'RecipientInvalid',
      EnhancedCode: '5.1.1',
      Type: 'Permanent',
    });
    expect((await server.call('GET', `/email/${id}`, { token })).json.Recipients[0].Status).toBe('Bounced');
    const { Items } = (await server.call('GET', '/suppressions?Email=gone@reader.example')).json;
    expect(Items).toHaveLength(1);
  });
});
