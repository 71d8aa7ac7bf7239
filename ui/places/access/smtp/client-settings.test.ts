import { expect, it } from 'vitest';
import { clientSettings } from './client-settings.ts';

const LOGIN = { username: 'smtp-1', password: 'secret', domain: 'example.com' };
const settings = (Security: 'TLS' | 'StartTLS', Port: number) =>
  Object.fromEntries(
    clientSettings({ Host: 'mail.example.com', Port, Security }, LOGIN).map(({ name, text }) => [name, text]),
  );

it('gives every program the address, the login and the same encryption', () => {
  const tls = settings('TLS', 465);
  const startTls = settings('StartTLS', 587);
  for (const [name, words] of Object.entries({
    Nodemailer: ['secure: true,', 'secure: false,\n  requireTLS: true,'],
    Django: ['EMAIL_USE_SSL = True', 'EMAIL_USE_TLS = True'],
    Laravel: ['MAIL_SCHEME=smtps', 'MAIL_SCHEME=smtp\n'],
    WordPress: ["SMTPSecure = 'ssl'", "SMTPSecure = 'tls'"],
    msmtp: ['tls_starttls off', 'tls_starttls on'],
    Thunderbird: ['SSL/TLS', 'STARTTLS'],
  })) {
    for (const [text = '', port, word = ''] of [
      [tls[name], '465', words[0]],
      [startTls[name], '587', words[1]],
    ] as const)
      for (const part of ['mail.example.com', 'smtp-1', 'secret', port, word])
        expect(text, name).toContain(part);
  }
  // Older versions take tls for STARTTLS at any port.
  for (const [text, word] of [
    [tls.Laravel, 'ssl'],
    [startTls.Laravel, 'tls'],
  ])
    expect(text).toContain(`MAIL_ENCRYPTION=${word}\n`);
});
