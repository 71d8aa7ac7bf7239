/**
 * The doctor's check of a relay: whether it can be reached, supports TLS, and accepts our login and our largest
 * message.
 */
import { type DomainCheck, type OpenCheck, openCheck, showable } from './check.ts';
import type { InstanceProbes, RelayFacts, RelayProbe } from './instance-facts.ts';

/** Connects to the relay as delivery would, and logs in if configured; nothing is sent. */
export async function checkRelay(probes: InstanceProbes, relay: RelayFacts): Promise<DomainCheck> {
  const { host, port, login } = relay;
  const at = `${host}:${port}`;
  const probe = await probes.relay(relay);
  const found = 'detail' in probe ? [probe.detail] : [];
  const check = openCheck(`relay ${at}`, 'SMTP', at, { found });
  judge(check, probe, relay);
  return check.done(`The relay ${at} answers${login ? ' and takes the login' : ''}.`);
}

function judge(
  check: OpenCheck,
  probe: RelayProbe,
  { host, port, login, maxMessageBytes }: RelayFacts,
): void {
  const at = `${showable(host)}:${port}`;
  const said = 'detail' in probe ? showable(probe.detail) : '';
  switch (probe.kind) {
    case 'unresolved':
      check.fail(
        `The name of the relay ${at} leads to no address: ${said}.`,
        'Correct its host name (key route), or the resolvers of this server (key dns).',
      );
      break;
    case 'unreachable':
      check.fail(
        `The relay ${at} cannot be reached: ${said}.`,
        'Check its host and port (key route; smtps:// where it begins with TLS, mostly 465), and whether a firewall lets this machine connect there (often 587 where 25 is closed).',
      );
      break;
    case 'tls':
      check.fail(
        `TLS with the relay ${at} fails: ${said}.`,
        `A login goes over verified TLS only${tlsFix(said, port)}.`,
      );
      break;
    case 'login':
      check.fail(
        `The relay ${at} refuses the login: ${said}.`,
        'Correct its user name and password (key route, with special characters percent-encoded). A running server reads them when it starts.',
      );
      break;
    case 'no-login':
      check.fail(
        `The relay ${at} takes no login: ${said}.`,
        'Check its port (key route): a login is usual at 587, or at 465 with smtps://, often after TLS only, and not at 25. If the relay needs no login, remove user and password from the route. This server logs in with PLAIN or LOGIN.',
      );
      break;
    case 'refused':
      check.fail(`The relay ${at} refuses us: ${said}.`, 'Ask its provider about this address and account.');
      break;
    case 'ready':
      judgeReady(check, at, probe, login, maxMessageBytes);
  }
}

/** What to do about TLS, by the name that OpenSSL has for its problem. */
function tlsFix(detail: string, port: number): string {
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/.test(detail))
    return ', and this port does not begin with it: use smtp:// in place of smtps:// (key route), which begins it before the login';
  if (/CERT_HAS_EXPIRED|CERT_NOT_YET_VALID/.test(detail))
    return '. Who runs the relay renews the certificate; if it is in date, correct the clock of this machine';
  if (/SELF_SIGNED|UNABLE_TO_/.test(detail))
    return '. Who runs the relay gets a certificate of a public authority, with its whole chain. To trust one of your own, set the environment variable NODE_EXTRA_CA_CERTS of the server to the file of its authority (PEM), and restart it';
  return `: use the name that its certificate has${port === 465 ? '' : ', or smtps:// where it expects TLS from the start'}`;
}

function judgeReady(
  check: OpenCheck,
  at: string,
  { tls, size }: Extract<RelayProbe, { kind: 'ready' }>,
  login: boolean,
  maxMessageBytes: number,
): void {
  if (tls !== 'verified' && !login) {
    check.warn(
      tls === 'none'
        ? `Mail goes to the relay ${at} in the clear.`
        : `The certificate of the relay ${at} is not verified.`,
      'Ask its provider for a name and port with TLS, or use smtps://.',
    );
  }
  if (size !== null && size > 0 && size < maxMessageBytes) {
    check.warn(
      `The relay ${at} takes messages of up to ${size} bytes, and this server takes up to ${maxMessageBytes}: larger ones bounce.`,
      `Set the key max-message-bytes to ${size} or less, so that their senders get an error at once.`,
    );
  }
}
