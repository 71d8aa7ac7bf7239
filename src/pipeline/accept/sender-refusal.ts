/** Why a caller may not send from a domain, in the words of every way in. */
import { AppError } from '../../lib/errors.ts';
import type { Caller } from '../../model/submission.ts';

/** What is known of the domain for this caller. */
type NoSender = { kind: 'not-allowed' } | { kind: 'unknown' } | { kind: 'not-verified'; name: string };

/** `field`: where the request names the domain. */
export function senderRefusal(
  sender: NoSender,
  { domains }: Pick<Caller, 'domains'>,
  fromDomain: string,
  field?: string,
): AppError {
  const at = field === undefined ? {} : { field };
  const [one, ...others] = domains;
  const only = one === undefined || others.length > 0 ? '' : `, only from ${one}`;
  const below =
    only !== '' && fromDomain.endsWith(`.${one}`)
      ? `; its sub-domains may send after PATCH /domains/${one} with {"Subdomains": true}`
      : '';
  switch (sender.kind) {
    case 'not-allowed':
      return new AppError('from-domain-not-allowed', {
        ...at,
        message: `This token or SMTP login may not send from ${fromDomain}${only}${below}`,
      });
    case 'unknown':
      return new AppError('from-domain-not-allowed', {
        ...at,
        message: `${fromDomain} is not a sender domain of this server; to add it, run: postrider domain add ${fromDomain}`,
      });
    case 'not-verified':
      return new AppError('domain-not-verified', {
        ...at,
        message: `${sender.name} is not verified yet; publish its DNS records and run: postrider domain verify ${sender.name}`,
      });
  }
}
