/**
 * Other people's SMTP clients against our submission listener (nodemailer, Python's smtplib, curl, swaks, msmtp), and
 * messages with awkward bytes of their own, compared octet for octet at the sink that the server delivers to. A client
 * that is not installed is skipped under its name.
 */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createTransport } from 'nodemailer';
import PostalMime from 'postal-mime';
import { beforeAll, describe, expect, it } from 'vitest';
import { openLineClient } from '../fakes/smtp-line-client.ts';
import { type SmtpSink, startSmtpSink } from '../fakes/smtp-sink.ts';
import { fileScope, type Instance, startInstance, temporaryFolder, until } from '../scenarios/harness.ts';
import { dkimVerdict } from '../scenarios/signed-mail.ts';

const run = promisify(execFile);
const scope = fileScope();
let server: Instance;
let sink: SmtpSink;
let token: string;
let user: { Username: string; Password: string };
let port: number;
let tlsPort: number;
let folder: string;

async function installed(command: string): Promise<boolean> {
  try {
    await run('which', [command]);
    return true;
  } catch {
    return false;
  }
}

/** Skips say which program is missing, so that a green run is not taken for more than it is. */
async function needs(command: string, skip: (note: string) => void): Promise<void> {
  if (await installed(command)) return;
  process.stderr.write(`skipped: ${command} is not installed here\n`);
  skip(`${command} is not installed`);
}

async function arrived(subject: string) {
  return until(`"${subject}" arrives at the sink`, () =>
    sink.messages.find(({ data }) => data.toString('latin1').includes(`Subject: ${subject}\r\n`)),
  );
}

beforeAll(async () => {
  sink = await startSmtpSink({
    eightBitMime: true,
    smtpUtf8: true,
    refuse: (recipient) => (recipient.startsWith('gone') ? '550 5.1.1 No such user' : null),
  });
  scope.defer(() => sink.close());
  server = await startInstance(scope, {
    settings: {
      submission: '127.0.0.1:0',
      'submission-tls': '127.0.0.1:0',
      route: `smtp://127.0.0.1:${sink.port}`,
      retry: '100ms',
      'notice-wait': '100ms',
    },
  });
  port = server.server.submission.plain?.port ?? 0;
  tlsPort = server.server.submission.tls?.port ?? 0;
  await server.call('POST', '/domains', { body: { Domain: 'example.com', Verified: true } });
  const body = { Name: 'smtp', Domains: ['example.com'], Preset: 'Send' };
  token = (await server.call('POST', '/tokens', { body })).json.Token;
  user = (await server.call('POST', '/smtp-credentials', { body: { Domain: 'example.com' } })).json;
  folder = await temporaryFolder(scope);
});

describe('a client of others', () => {
  it.each([
    ['STARTTLS', 'a token'],
    ['STARTTLS', 'a password'],
    ['TLS', 'a password'],
  ])('nodemailer sends by %s with %s', async (how, secret) => {
    const subject = `nodemailer ${how} ${secret}`;
    const transport = createTransport({
      host: '127.0.0.1',
      port: how === 'TLS' ? tlsPort : port,
      secure: how === 'TLS',
      requireTLS: true,
      auth:
        secret === 'a token' ? { user: 'token', pass: token } : { user: user.Username, pass: user.Password },
      tls: { rejectUnauthorized: false },
    });
    const info = await transport.sendMail({
      from: 'Shop <shop@example.com>',
      to: 'b@example.net',
      bcc: 'hidden@example.net',
      subject,
      text: 'Grüße\n.\n..',
      html: '<p>Grüße</p>',
      attachments: [{ filename: 'a.bin', content: Buffer.alloc(100_000, 7) }],
    });
    transport.close();
    expect(info.response).toMatch(/^250 2\.6\.0 Queued as [0-9a-f-]{36}$/);
    const message = await arrived(subject);
    expect(message.data.toString('latin1')).not.toContain('hidden@');
    const id = info.response.slice(-36);
    expect((await server.settled(id)).Status).toBe('Delivered');
  });

  it('python’s smtplib sends by STARTTLS', async ({ skip }) => {
    await needs('python3', skip);
    const script = join(folder, 'send.py');
    await writeFile(
      script,
      `import smtplib, ssl, sys
from email.message import EmailMessage
host, port, user, password = sys.argv[1:]
context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
message = EmailMessage()
message['From'] = 'Shop <shop@example.com>'
message['To'] = 'b@example.net'
message['Subject'] = 'smtplib'
message.set_content('Grüße\\n.\\nEnde\\n')
with smtplib.SMTP(host, int(port), timeout=20) as client:
    client.starttls(context=context)
    client.login(user, password)
    client.send_message(message)
    try:
        client.sendmail('evil@example.org', ['b@example.net'], 'From: evil@example.org\\r\\n\\r\\nx')
    except smtplib.SMTPSenderRefused as refused:
        print(refused.smtp_code, refused.smtp_error.decode())
`,
    );
    const { stdout } = await run('python3', [script, '127.0.0.1', `${port}`, 'token', token]);
    expect(stdout).toMatch(/^550 5\.7\.1 /);
    await arrived('smtplib');
  });

  it('python’s smtplib asks for a notice, and its parser reads it', async ({ skip }) => {
    await needs('python3', skip);
    const script = join(folder, 'notice.py');
    await writeFile(
      script,
      `import smtplib, ssl, sys
host, port, user, password = sys.argv[1:]
context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
with smtplib.SMTP(host, int(port), timeout=20) as client:
    client.starttls(context=context)
    client.login(user, password)
    client.sendmail('asker@example.com', ['gone@example.net'],
        'From: asker@example.com\\r\\nSubject: asks\\r\\n\\r\\nx\\r\\n',
        mail_options=['RET=FULL', 'ENVID=py-1'],
        rcpt_options=['NOTIFY=FAILURE,DELAY', 'ORCPT=rfc822;gone@example.net'])
    print(client.has_extn('dsn'))
`,
    );
    const { stdout } = await run('python3', [script, '127.0.0.1', `${port}`, 'token', token]);
    expect(stdout.trim()).toBe('True');
    const notice = await until('the notice arrives', () =>
      sink.messages.find(({ rcpts }) => rcpts[0] === 'asker@example.com'),
    );
    expect(notice.from).toBe('');
    const file = join(folder, 'notice.eml');
    await writeFile(file, notice.data);
    const reader = `import email, sys
from email import policy
message = email.message_from_bytes(open(sys.argv[1], 'rb').read(), policy=policy.default)
text, status, returned = message.iter_parts()
whole, recipient = status.get_payload()
print(message.get_content_type(), message.get_param('report-type'), len(message.defects))
print(status.get_content_type(), whole['Original-Envelope-Id'], recipient['Action'], recipient['Status'])
print(recipient['Original-Recipient'], recipient['Final-Recipient'])
print(returned.get_content_type(), returned.get_payload(0)['Subject'])
`;
    const read = await run('python3', ['-c', reader, file]);
    expect(read.stdout.trim().split('\n')).toEqual([
      'multipart/report delivery-status 0',
      'message/delivery-status py-1 failed 5.1.1',
      'rfc822;gone@example.net rfc822;gone@example.net',
      'message/rfc822 asks',
    ]);
  });

  it.each(['smtp', 'smtps'])('curl sends by %s', async (scheme) => {
    if (!(await installed('curl'))) {
      process.stderr.write('skipped: curl is not installed here\n');
      return;
    }
    const file = join(folder, `${scheme}.eml`);
    const subject = `curl ${scheme}`;
    await writeFile(
      file,
      `From: shop@example.com\r\nTo: b@example.net\r\nSubject: ${subject}\r\n\r\n.\r\n..x\r\nend\r\n`,
    );
    await run('curl', [
      '-sS',
      '--max-time',
      '20',
      '-k',
      '--ssl-reqd',
      `${scheme}://127.0.0.1:${scheme === 'smtp' ? port : tlsPort}/client.test`,
      '--mail-from',
      'shop@example.com',
      '--mail-rcpt',
      'b@example.net',
      '--user',
      `${user.Username}:${user.Password}`,
      '--upload-file',
      file,
    ]);
    const { data } = await arrived(subject);
    expect(data.toString('latin1').endsWith('\r\n\r\n.\r\n..x\r\nend\r\n')).toBe(true);
  });

  it('swaks sends by STARTTLS', async ({ skip }) => {
    await needs('swaks', skip);
    const support = await run('swaks', ['--support']);
    if (/TLS not available/.test(support.stdout + support.stderr)) {
      process.stderr.write('skipped: swaks has no TLS here (Net::SSLeay)\n');
      skip('swaks has no TLS here');
    }
    const login = ['--auth', 'PLAIN', '--auth-user', user.Username, '--auth-password', user.Password];
    const { stdout } = await run('swaks', [
      ...['--server', '127.0.0.1', '--port', `${port}`, '--tls', ...login],
      ...['--from', 'shop@example.com', '--to', 'b@example.net', '--header', 'Subject: swaks'],
    ]);
    expect(stdout).toContain('Queued as');
    await arrived('swaks');
  });

  it('msmtp sends by STARTTLS', async ({ skip }) => {
    await needs('msmtp', skip);
    const file = join(folder, 'msmtp.eml');
    await writeFile(file, 'From: shop@example.com\nTo: b@example.net\nSubject: msmtp\n\nx\n');
    const login = ['--auth=plain', `--user=${user.Username}`, `--passwordeval=echo ${user.Password}`];
    await run('sh', [
      '-c',
      `msmtp --host=127.0.0.1 --port=${port} --tls=on --tls-certcheck=off ${login.map((each) => `'${each}'`).join(' ')} --from=shop@example.com b@example.net < '${file}'`,
    ]);
    await arrived('msmtp');
  });
});

const HEAD =
  'Message-ID: <1@example.com>\r\nDate: Sat, 21 Nov 2026 11:44:00 +0000\r\nFrom: Shop <shop@example.com>\r\nTo: b@example.net\r\n';
const latin1 = (text: string) => Buffer.from(text, 'latin1');

/** Awkward and legitimate: each must come out as it went in, octet for octet. */
const CORPUS: Readonly<Record<string, Buffer>> = {
  'an S/MIME signed message': latin1(
    `${HEAD}MIME-Version: 1.0\r\nContent-Type: multipart/signed; protocol="application/pkcs7-signature"; micalg=sha-256;\r\n boundary="----B"\r\n\r\nThis is an S/MIME signed message\r\n\r\n------B\r\nContent-Type: text/plain\r\n\r\ntrailing blanks   \r\n\ttabs\t\r\n.\r\n..\r\nFrom the start\r\n\r\n------B\r\nContent-Type: application/pkcs7-signature; name="smime.p7s"\r\nContent-Transfer-Encoding: base64\r\n\r\nMIIF\r\n\r\n------B--\r\n\r\n`,
  ),
  'an OpenPGP message with dashes and dots': latin1(
    `${HEAD}Content-Type: text/plain\r\n\r\n-----BEGIN PGP SIGNED MESSAGE-----\r\nHash: SHA512\r\n\r\n- -- \r\n. \r\n.\r\n- From me\r\n-----BEGIN PGP SIGNATURE-----\r\n\r\niQ=\r\n=abcd\r\n-----END PGP SIGNATURE-----\r\n`,
  ),
  'messages within messages': latin1(
    `${HEAD}Content-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\nContent-Type: message/rfc822\r\n\r\nFrom: x@example.org\r\nBcc: inner@example.org\r\nX-Postrider-Tag: inner\r\n\r\n--a\r\nContent-Type: message/rfc822\r\n\r\nReceived: x\r\n\r\n\r\n--a--\r\nepilogue\r\n`,
  ),
  '8-bit text in Latin-1, headers too': latin1(
    `${HEAD}Subject: Gr\u00fc\u00dfe\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: 8bit\r\n\r\nGr\u00fc\u00dfe\r\n`,
  ),
  '8-bit text in UTF-8': Buffer.from(
    `${HEAD}Subject: x\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\nGr\u00fc\u00dfe \u{1f600}\r\n`,
  ),
  'Shift-JIS octets': Buffer.concat([
    latin1(`${HEAD}Content-Type: text/plain; charset=shift_jis\r\n\r\n`),
    Buffer.from([0x82, 0xb1, 0x82, 0xf1, 0x83, 0x5c, 13, 10]),
  ]),
  'every octet but NUL, CR and LF': Buffer.concat([
    latin1(`${HEAD}\r\n`),
    Buffer.from(Array.from({ length: 256 }, (_, i) => i).filter((i) => i !== 0 && i !== 10 && i !== 13)),
    latin1('\r\n'),
  ]),
  'ISO-2022-JP escapes': latin1(
    `${HEAD}Subject: =?ISO-2022-JP?B?GyRCJUYlOSVIGyhC?=\r\n\r\n\u001b$B%F%9%H\u001b(B\r\n`,
  ),
  'lines of 998 octets': latin1(
    `${HEAD}X-Long: ${'h'.repeat(990)}\r\n\r\n${'b'.repeat(998)}\r\n.${'c'.repeat(997)}\r\n`,
  ),
  'odd folding, tabs and empty values': latin1(
    `${HEAD}Subject:\r\n\tfolded\r\n  twice\t \r\nX-Empty:\r\nX-Blank:   \r\nx-CASE: any case\r\nComments: a\r\nComments: b\r\n\r\nbody\r\n`,
  ),
  'blank lines at both ends': latin1(`${HEAD}\r\n\r\n\r\nbody\r\n\r\n\r\n\r\n`),
  'no body after the empty line': latin1(`${HEAD}\r\n`),
  'a list header and signatures of its own': latin1(
    `DKIM-Signature: v=1; a=rsa-sha256; d=other.test; s=x; h=from; bh=;\r\n b=\r\n${HEAD}List-Unsubscribe: <mailto:u@example.com>\r\n\r\nx\r\n`,
  ),
};

describe('a message with its own bytes', () => {
  it.each(Object.entries(CORPUS))('arrives octet for octet: %s', async (_, original) => {
    const client = await openLineClient(port);
    await client.reply();
    await client.hello();
    await client.login('token', token);
    const before = sink.messages.length;
    const reply = await client.transact({
      from: 'shop@example.com',
      to: ['b@example.net'],
      data: original,
      mail: ' BODY=8BITMIME',
    });
    client.close();
    expect(reply).toMatch(/^250 2\.6\.0 /);
    const id = reply.slice(-36);
    expect((await server.settled(id)).Status).toBe('Delivered');
    const message = sink.messages.slice(before).find(({ data }) => data.includes(id));
    expect(message).toBeDefined();
    const tail = message?.data.subarray(-original.length);
    expect(tail?.equals(original)).toBe(true);
    // What stands in front is ours alone: signature, reference, trace.
    const front = message?.data.subarray(0, -original.length).toString('latin1') ?? '';
    expect(front).toMatch(
      /^DKIM-Signature: (?:.+\r\n[ \t])*.+\r\nX-Postrider-Ref: .+\r\nReceived: from client\.test (?:.+\r\n\t)*.+\r\n$/,
    );
    const eightBit = original.some((octet) => octet > 127);
    expect(message?.mailParams.includes('BODY=8BITMIME')).toBe(eightBit);
  });

  it('loses only Bcc and our own fields, wherever they stand and however they are folded', async () => {
    const client = await openLineClient(port);
    await client.reply();
    await client.hello();
    await client.login('token', token);
    const reply = await client.transact({
      from: 'shop@example.com',
      to: ['b@example.net', 'h@example.net'],
      data: `BCC: h@example.net,\r\n h2@example.net\r\n${HEAD}X-Postrider-Tag: a\r\nSubject: kept\r\nResent-Bcc: h@example.net\r\nbcc:\r\n\r\nBcc: in the body\r\n`,
    });
    client.close();
    const id = reply.slice(-36);
    await server.settled(id);
    const copies = sink.messages.filter(({ data }) => data.includes(id));
    expect(copies).toHaveLength(2);
    for (const { data } of copies) {
      expect(data.toString('latin1').endsWith(`${HEAD}Subject: kept\r\n\r\nBcc: in the body\r\n`)).toBe(true);
      expect(data.includes('h@example.net')).toBe(false);
    }
  });

  describe('of 8-bit content, to a host without 8BITMIME', () => {
    let plain: SmtpSink;
    let own: Instance;

    beforeAll(async () => {
      plain = await startSmtpSink({ eightBitMime: false, dsn: true });
      scope.defer(() => plain.close());
      own = await startInstance(scope, {
        settings: { submission: '127.0.0.1:0', route: `smtp://127.0.0.1:${plain.port}`, retry: '50ms' },
      });
      await own.call('POST', '/domains', { body: { Domain: 'example.com', Verified: true } });
    });

    async function submit(data: string): Promise<string> {
      const client = await openLineClient(own.server.submission.plain?.port ?? 0);
      await client.reply();
      await client.hello();
      await client.login('token', own.token);
      const reply = await client.transact({ from: 'shop@example.com', to: ['b@example.net'], data });
      client.close();
      return reply.slice(-36);
    }

    it('is encoded part by part before it is signed', async () => {
      const id = await submit(
        `${HEAD}MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\nA line with a Gr\u00fc\u00dfe in it\r\n--b\r\n\r\nplain\r\n--b--\r\n`,
      );
      expect((await own.settled(id)).Status).toBe('Delivered');
      const message = plain.messages.find(({ data }) => data.includes(id));
      expect(message?.data.every((octet) => octet < 128)).toBe(true);
      expect(message?.mailParams.some((word) => word.startsWith('BODY='))).toBe(false);
      expect(message?.mailParams).toEqual(expect.arrayContaining(['RET=HDRS']));
      const mail = await PostalMime.parse(new Uint8Array(message?.data ?? []));
      expect(mail.text).toContain('A line with a Grüße in it');
      expect(await dkimVerdict(own, 'example.com', message?.data ?? Buffer.alloc(0))).toBe('pass');
    });

    it('bounces with 5.6.3 where encoding it would break a signature of its own', async () => {
      const id = await submit(
        `${HEAD}MIME-Version: 1.0\r\nContent-Type: multipart/signed; boundary=b\r\n\r\n--b\r\n\r\nGr\u00fc\u00dfe\r\n--b--\r\n`,
      );
      const { Recipients } = await own.settled(id);
      const LastResponse = '127.0.0.1 does not take 8-bit content';
      expect(Recipients[0]).toMatchObject({ Status: 'Bounced', LastSmtpCode: 0, LastResponse });
      const { Items } = (await own.call('GET', `/email/${id}/events`)).json;
      expect(Items.at(-1).Bounce).toMatchObject({ EnhancedCode: '5.6.3' });
      expect(plain.messages.some(({ data }) => data.includes(id))).toBe(false);
    });
  });

  it('to an address outside ASCII goes out with SMTPUTF8', async () => {
    const client = await openLineClient(port);
    await client.reply();
    await client.hello();
    await client.login('token', token);
    client.send(
      Buffer.from(
        'MAIL FROM:<shop@example.com> SMTPUTF8 BODY=8BITMIME\r\nRCPT TO:<j\u00f6rg@example.net>\r\nDATA\r\n',
      ),
    );
    for (const expected of [/^250/, /^250/, /^354/]) expect(await client.reply()).toMatch(expected);
    client.send(Buffer.from(`${HEAD}Subject: Gr\u00fc\u00dfe\r\n\r\nx\r\n.\r\n`));
    const reply = await client.reply();
    client.close();
    expect((await server.settled(reply.slice(-36))).Status).toBe('Delivered');
    const message = sink.messages.find(({ data }) => data.includes(reply.slice(-36)));
    expect(message?.mailParams).toEqual(expect.arrayContaining(['SMTPUTF8', 'BODY=8BITMIME']));
  });
});
