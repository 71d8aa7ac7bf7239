/**
 * `dev` takes any client as it comes: the stock transports of others, with their own defaults, from an address of one
 * label, with a login that nobody knows and without one; and the settings for frameworks as docs/howto/submit-by-smtp.md
 * has them, each with the framework's own client. What is not installed is skipped under its name. Beyond loopback a token is asked for.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createTransport } from 'nodemailer';
import { beforeAll, describe, expect, it } from 'vitest';
import { openLineClient } from '../fakes/smtp-line-client.ts';
import { command, startCommand } from './commands.ts';
import { fileScope, type Instance, startInstance, temporaryFolder, until } from './harness.ts';
import { codeBlocks, howToPage } from './how-to-page.ts';

const run = promisify(execFile);
const scope = fileScope();
let server: Instance;
let port: number;
let folder: string;
let page: string;

type Skip = (note: string) => void;
const FROM = 'noreply@localhost';
const TO = 'you@example.net';

const DJANGO = '/usr/lib/python3/dist-packages/django/__init__.py';
const SYMFONY = '/usr/share/php/Symfony/Component/Mailer/autoload.php';
const JAKARTA = ['/usr/share/java/jakarta-mail.jar', '/usr/share/java/jakarta-activation.jar'];

async function needs(skip: Skip, ...commands: string[]): Promise<void> {
  for (const name of commands) {
    const there = name.startsWith('/')
      ? existsSync(name)
      : await run('which', [name]).then(
          () => true,
          () => false,
        );
    if (there) continue;
    process.stderr.write(`skipped: ${name} is not installed here\n`);
    skip(`${name} is not installed`);
  }
}

/** The captured message of that subject, as who sent it. */
async function captured(subject: string, from = FROM, on = server) {
  const found = await until(`"${subject}" is in the inbox`, async () => {
    const { json } = await on.call(
      'GET',
      `/sandbox/messages?Inbox=smtp&Subject=${encodeURIComponent(subject)}`,
    );
    return json.Items[0];
  });
  const detail = (await on.call('GET', `/email/${found.MessageID}`)).json;
  expect(detail).toMatchObject({ From: { Email: from }, Status: 'Delivered' });
  return detail;
}

beforeAll(async () => {
  server = await startInstance(scope, { mode: 'dev' });
  port = server.server.submission.plain?.port ?? 0;
  folder = await temporaryFolder(scope);
  page = (await howToPage('submit-by-smtp')).replaceAll('1025', `${port}`);
});

const LOGINS = [
  ['without a login', null],
  ['with any login', { user: 'user@example.com', pass: 'pass word' }],
] as const;

describe.each(LOGINS)('a client %s', (how, login) => {
  it('nodemailer', async () => {
    const transport = createTransport({
      host: '127.0.0.1',
      port,
      ...(login === null ? {} : { auth: { ...login } }),
    });
    await transport.sendMail({ from: FROM, to: TO, subject: `nodemailer ${how}`, text: 'x' });
    transport.close();
    await captured(`nodemailer ${how}`);
  });

  it('python’s smtplib', async ({ skip }) => {
    await needs(skip, 'python3');
    await run('python3', ['-c', SMTPLIB, `${port}`, `smtplib ${how}`, login === null ? '' : 'login']);
    await captured(`smtplib ${how}`);
  });

  it('swaks', async ({ skip }) => {
    await needs(skip, 'swaks');
    await run('swaks', [
      ...['--server', '127.0.0.1', '--port', `${port}`, '--from', FROM, '--to', TO],
      ...['--header', `Subject: swaks ${how}`],
      ...(login === null ? [] : ['--auth', '--auth-user', login.user, '--auth-password', login.pass]),
    ]);
    await captured(`swaks ${how}`);
  });

  it('msmtp', async ({ skip }) => {
    await needs(skip, 'msmtp');
    const auth =
      login === null ? '' : `--auth=plain --user=${login.user} '--passwordeval=echo "${login.pass}"' `;
    await run('sh', [
      '-c',
      `printf 'To: ${TO}\nSubject: msmtp ${how}\n\nx\n' | msmtp --host=127.0.0.1 --port=${port} --from=${FROM} ${auth}${TO}`,
    ]);
    await captured(`msmtp ${how}`);
  });

  it('curl', async ({ skip }) => {
    await needs(skip, 'curl');
    const file = join(folder, 'curl.eml');
    await writeFile(file, `From: ${FROM}\r\nTo: ${TO}\r\nSubject: curl ${how}\r\n\r\nx\r\n`);
    await run('curl', [
      ...['-sS', '--max-time', '20', `smtp://127.0.0.1:${port}`, '--mail-from', FROM, '--mail-rcpt', TO],
      ...['--upload-file', file, ...(login === null ? [] : ['--user', `${login.user}:${login.pass}`])],
    ]);
    await captured(`curl ${how}`);
  });

  it('mail() of PHP, through msmtp', async ({ skip }) => {
    await needs(skip, 'php', 'msmtp');
    const [, path = ''] = /^sendmail_path = "(.*)"$/m.exec(page) ?? [];
    const auth =
      login === null ? '' : ` --auth=plain --user=${login.user} --passwordeval='echo ${login.pass}'`;
    const ini = join(folder, 'php.ini');
    await writeFile(ini, `sendmail_path = "${path}${auth}"\n`);
    await run('php', ['-c', ini, '-r', `exit(mail('${TO}', 'php ${how}', 'x') ? 0 : 1);`]);
    await captured(`php ${how}`);
  });
});

const SMTPLIB = `import smtplib, sys
from email.message import EmailMessage
port, subject, wish = sys.argv[1:]
message = EmailMessage()
message['From'] = '${FROM}'
message['To'] = '${TO}'
message['Subject'] = subject
message.set_content('x')
with smtplib.SMTP('127.0.0.1', int(port), timeout=20) as client:
    if wish == 'starttls':
        client.starttls()
    if wish != '':
        client.login('user', 'password')
    client.send_message(message)
`;

/** As JavaMailSender makes it of the two properties. */
const SPRING = `import jakarta.mail.*;
import jakarta.mail.internet.*;
public class Send {
  public static void main(String[] given) throws Exception {
    java.util.Properties settings = new java.util.Properties();
    settings.put("mail.smtp.host", given[0]);
    settings.put("mail.smtp.port", given[1]);
    MimeMessage message = new MimeMessage(Session.getInstance(settings));
    message.setFrom("${FROM}");
    message.setRecipients(Message.RecipientType.TO, "${TO}");
    message.setSubject("page spring");
    message.setText("x");
    Transport.send(message);
  }
}
`;

describe('the settings of the page', () => {
  it('Nodemailer', async () => {
    const block = codeBlocks(page, 'js').find((text) => text.includes(`${port}`)) ?? '';
    const file = new URL(`./page-${port}.mjs`, import.meta.url);
    // Beside this file, where the package is found.
    await writeFile(file, block.replace("subject: 'Hi'", "subject: 'page nodemailer'"));
    scope.defer(() => run('rm', ['-f', file.pathname]));
    await run(process.execPath, [file.pathname]);
    await captured('page nodemailer');
  });

  it('Django', async ({ skip }) => {
    await needs(skip, '/usr/bin/python3', DJANGO);
    const settings = codeBlocks(page, 'python').find((text) => text.includes('EMAIL_HOST')) ?? '';
    const script = `${settings}
from django.conf import settings
settings.configure(EMAIL_HOST=EMAIL_HOST, EMAIL_PORT=EMAIL_PORT)
from django.core.mail import send_mail
send_mail('page django', 'x', None, ['${TO}'])
`;
    await run('/usr/bin/python3', ['-c', script]);
    await captured('page django', 'webmaster@localhost');
  });

  it('Rails, whose mail goes by the gem mail', async ({ skip }) => {
    await needs(skip, 'ruby');
    const hasGem = await run('ruby', ['-e', "require 'mail'"]).then(
      () => true,
      () => false,
    );
    if (!hasGem) {
      process.stderr.write('skipped: the gem mail is not installed here\n');
      skip('the gem mail is not installed');
    }
    const settings = codeBlocks(page, 'ruby')[0] ?? '';
    const script = `require 'mail'
require 'ostruct'
config = OpenStruct.new(action_mailer: OpenStruct.new)
${settings}
Mail.defaults { delivery_method config.action_mailer.delivery_method, config.action_mailer.smtp_settings }
Mail.deliver { from '${FROM}'; to '${TO}'; subject 'page rails'; body 'x' }
`;
    await run('ruby', ['-e', script]);
    await captured('page rails');
  });

  it('Symfony and Laravel', async ({ skip }) => {
    await needs(skip, 'php', SYMFONY);
    const [, dsn = ''] = /^MAILER_DSN=(.*)$/m.exec(page) ?? [];
    const script = `require '${SYMFONY}';
$mailer = new Symfony\\Component\\Mailer\\Mailer(Symfony\\Component\\Mailer\\Transport::fromDsn('${dsn}'));
$mailer->send((new Symfony\\Component\\Mime\\Email())->from('${FROM}')->to('${TO}')->subject('page symfony')->text('x'));`;
    await run('php', ['-r', script]);
    await captured('page symfony');
  });

  it('Spring, whose mail goes by Jakarta Mail', async ({ skip }) => {
    await needs(skip, 'java', 'javac', ...JAKARTA);
    const file = join(folder, 'Send.java');
    await writeFile(file, SPRING);
    const settings = codeBlocks(page, 'properties')[0] ?? '';
    const value = (name: string) =>
      new RegExp(`^spring\\.mail\\.${name}=(.*)$`, 'm').exec(settings)?.[1] ?? '';
    await run('java', ['-cp', JAKARTA.join(':'), file, value('host'), value('port')]);
    await captured('page spring');
  });

  it('Go', async ({ skip }) => {
    await needs(skip, 'go');
    const file = join(folder, 'main.go');
    await writeFile(file, (codeBlocks(page, 'go')[0] ?? '').replace('Subject: Hi', 'Subject: page go'));
    // Its cache and what it builds want a place that may hold programs.
    await run('go', ['run', file], { env: { ...process.env, TMPDIR: '/tmp' } });
    await captured('page go');
  });
});

describe('development', () => {
  it('offers STARTTLS where it is asked for', async ({ skip }) => {
    const client = await openLineClient(port);
    await client.reply();
    const hello = await client.ask('EHLO client.test');
    client.close();
    expect(hello).not.toContain('STARTTLS');
    expect(hello).toContain('AUTH PLAIN LOGIN');
    const own = await startInstance(scope, { mode: 'dev', settings: { 'submission-starttls': 'on' } });
    await needs(skip, 'python3');
    const at = own.server.submission.plain?.port ?? 0;
    await run('python3', ['-c', SMTPLIB, `${at}`, 'starttls', 'starttls']);
    await captured('starttls', FROM, own);
  });

  it('takes a login of its own for what it is, and others by the dozen without a pause', async () => {
    const made = (await server.call('POST', '/smtp-credentials', { body: { Domain: 'example.com' } })).json;
    const login = async (user: string, password: string, from: string) => {
      const client = await openLineClient(port);
      await client.reply();
      await client.ask('EHLO client.test');
      expect(await client.login(user, password)).toMatch(/^235 /);
      const answer = await client.ask(`MAIL FROM:<${from}>`);
      client.close();
      return answer.slice(0, 3);
    };
    for (let i = 0; i < 24; i += 1) expect(await login(`user${i}`, 'guess', FROM)).toBe('250');
    expect(await login(made.Username, made.Password, FROM)).toBe('550');
    expect(await login(made.Username, made.Password, 'a@example.com')).toBe('250');
    expect(await login(made.Username, 'wrong', FROM)).toBe('250');
    expect(await login('token', 'aaaaaaaaaa.bbbbbbbbbb.cccccccccc', FROM)).toBe('250');
    expect((await server.call('GET', '/me')).status).toBe(200);
  });

  it('shows mail to and from one label everywhere', async () => {
    const client = await openLineClient(port);
    await client.reply();
    await client.ask('EHLO client.test');
    const data = 'From: root <root@web01>\r\nTo: Admin <admin@localhost>\r\nSubject: one label\r\n\r\nx\r\n';
    const reply = await client.transact({ from: 'root@web01', to: ['admin@localhost'], data });
    client.close();
    expect(reply).toMatch(/^250 /);
    const detail = await captured('one label', 'root@web01');
    expect(detail.Recipients).toMatchObject([{ Email: 'admin@localhost', Type: 'To' }]);
    const listed = (await server.call('GET', '/email?Domain=web01')).json.Items;
    expect(listed).toHaveLength(1);
  });

  it('is nothing that serve knows', async () => {
    const own = await startInstance(scope, { settings: { submission: '127.0.0.1:0', expose: 'on' } });
    const client = await openLineClient(own.server.submission.plain?.port ?? 0);
    await client.reply();
    const hello = await client.ask('EHLO client.test');
    expect(hello).toContain('STARTTLS');
    expect(hello).not.toContain('AUTH');
    expect(await client.ask(`MAIL FROM:<a@example.com>`)).toMatch(/^530 /);
    await client.hello();
    expect(await client.login('any', 'thing')).toMatch(/^535 /);
    expect(await client.ask(`MAIL FROM:<${FROM}>`)).toMatch(/^5/);
    client.close();
    await own.stop();
    const serve = await command(['serve', '--submission-starttls', 'off', '--data', folder]);
    expect(serve.code).toBe(2);
    expect(serve.stderr).toContain('in the clear');
  });
});

describe('development beyond loopback', () => {
  it('warns when it starts', async () => {
    const data = await temporaryFolder(scope);
    const args = ['dev', '--http', '0.0.0.0:0', '--expose', 'on', '--data', data];
    const dev = startCommand(scope, args);
    await until('the banner is complete', () => dev.stdout().includes('Ctrl-C stops'));
    expect(dev.stdout()).toMatch(/Warning: this development server listens on 0\.0\.0\.0/);
    dev.child.kill('SIGTERM');
    await dev.ended;
  });

  const outside = Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

  it('needs a word, and then a token from whoever is not on loopback', async ({ skip }) => {
    if (outside === undefined) {
      process.stderr.write('skipped: this machine has no address but loopback\n');
      skip('no address but loopback');
      return;
    }
    const settings = { http: '0.0.0.0:0', submission: '0.0.0.0:0' };
    await expect(startInstance(scope, { mode: 'dev', settings })).rejects.toThrow(/--expose on/);
    const own = await startInstance(scope, { mode: 'dev', settings: { ...settings, expose: 'on' } });
    const at = own.server.submission.plain?.port ?? 0;
    const client = await openLineClient(at, { host: outside });
    await client.reply();
    const hello = await client.ask('EHLO client.test');
    expect(hello).toContain('AUTH PLAIN LOGIN');
    expect(hello).not.toContain('STARTTLS');
    expect(await client.ask(`MAIL FROM:<${FROM}>`)).toMatch(/^530 /);
    expect(await client.login('any', 'thing')).toMatch(/^535 /);
    expect(await client.login('any', own.token)).toMatch(/^235 /);
    expect(await client.ask(`MAIL FROM:<${FROM}>`)).toMatch(/^250 /);
    client.close();
    const near = await openLineClient(at);
    await near.reply();
    await near.ask('EHLO client.test');
    expect(await near.ask(`MAIL FROM:<${FROM}>`)).toMatch(/^250 /);
    near.close();
    const httpPort = new URL(own.server.localUrl).port;
    expect((await fetch(`http://${outside}:${httpPort}/api/v1/me`)).status).toBe(401);
    await own.stop();
  });
});
