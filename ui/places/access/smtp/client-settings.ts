/** Settings of common programs for a new SMTP login, as they are pasted there. Pure. */
import type { SubmissionPort } from '../../../../src/client/api-types.ts';

export interface Login {
  username: string;
  password: string;
  /** Sender domain. */
  domain: string;
}

export interface ClientSettings {
  value: string;
  name: string;
  /** Where they belong. */
  where: string;
  text: string;
}

const SECURITY = {
  TLS: 'TLS from the beginning (SSL/TLS)',
  StartTLS: 'STARTTLS',
  None: 'no encryption',
} as const;

/** How a connection is encrypted, in words. */
export const securityText = ({ Security }: SubmissionPort): string => SECURITY[Security];

/** `port`: where this server takes mail. */
export function clientSettings(
  { Host: host, Port: port, Security }: SubmissionPort,
  { username, password, domain }: Login,
): readonly ClientSettings[] {
  const isTls = Security === 'TLS';
  const isStartTls = Security === 'StartTLS';
  const from = `noreply@${domain}`;
  return [
    {
      value: 'nodemailer',
      name: 'Nodemailer',
      where: 'JavaScript',
      text: `import { createTransport } from 'nodemailer';

const transport = createTransport({
  host: '${host}',
  port: ${port},
  secure: ${isTls},${isStartTls ? '\n  requireTLS: true,' : ''}
  auth: { user: '${username}', pass: '${password}' },
});
await transport.sendMail({
  from: '${from}',
  to: 'you@example.net',
  subject: 'Hello',
  text: 'It works.',
});`,
    },
    {
      value: 'django',
      name: 'Django',
      where: 'settings.py',
      text: `EMAIL_HOST = '${host}'
EMAIL_PORT = ${port}
EMAIL_HOST_USER = '${username}'
EMAIL_HOST_PASSWORD = '${password}'${isTls ? '\nEMAIL_USE_SSL = True' : isStartTls ? '\nEMAIL_USE_TLS = True' : ''}
DEFAULT_FROM_EMAIL = '${from}'`,
    },
    {
      value: 'laravel',
      name: 'Laravel',
      where: '.env; MAIL_ENCRYPTION is for Laravel 10 and older',
      text: `MAIL_MAILER=smtp
MAIL_SCHEME=${isTls ? 'smtps' : 'smtp'}
MAIL_HOST=${host}
MAIL_PORT=${port}
MAIL_USERNAME=${username}
MAIL_PASSWORD=${password}
MAIL_ENCRYPTION=${isTls ? 'ssl' : isStartTls ? 'tls' : 'null'}
MAIL_FROM_ADDRESS=${from}`,
    },
    {
      value: 'wordpress',
      name: 'WordPress',
      where: 'wp-content/mu-plugins/smtp.php',
      text: `<?php
add_action('phpmailer_init', function ($mail) {
    $mail->isSMTP();
    $mail->Host = '${host}';
    $mail->Port = ${port};
    $mail->SMTPSecure = '${isTls ? 'ssl' : isStartTls ? 'tls' : ''}';
    $mail->SMTPAuth = true;
    $mail->Username = '${username}';
    $mail->Password = '${password}';
});
add_filter('wp_mail_from', fn () => '${from}');`,
    },
    {
      value: 'msmtp',
      name: 'msmtp',
      where: '~/.msmtprc, readable by you alone',
      text: `account default
host ${host}
port ${port}
tls ${Security === 'None' ? 'off' : 'on'}
tls_starttls ${isStartTls ? 'on' : 'off'}
auth plain
user ${username}
password ${password}
from ${from}`,
    },
    {
      value: 'thunderbird',
      name: 'Thunderbird',
      where: 'Account settings, Outgoing server (SMTP), Add',
      text: `Server name: ${host}
Port: ${port}
Connection security: ${isTls ? 'SSL/TLS' : isStartTls ? 'STARTTLS' : 'None'}
Authentication method: Normal password
User name: ${username}
Password: ${password}`,
    },
  ];
}
