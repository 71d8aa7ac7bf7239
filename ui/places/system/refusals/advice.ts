/** What helps against a refusal, by the name of its error. Pure. */
import type { Refusal } from '../../../../src/client/api-types.ts';

/** By the name of the error. */
export const ADVICE: Readonly<Record<string, string>> = {
  'token-missing': 'The program has to send its token: Authorization: Bearer …',
  'token-invalid':
    'The token or password is wrong, has ended or was revoked: make a new one and give it to the program.',
  'account-disabled': 'Whoever made this token is disabled: make a new one.',
  'scope-missing': 'It needs more rights: a token with a wider preset, or of a person another role.',
  'ip-not-allowed': 'The token may be used from other addresses only: make one whose list has this address.',
  'domain-not-verified': 'Publish the DNS records of the domain, then check it under Domains.',
  'from-domain-not-allowed':
    'The program sends from a domain that its token is not for: change the sender, or the token.',
  'domain-ambiguous': 'The token is for several domains: the program has to name one in Domain.',
  'all-recipients-suppressed':
    'The addresses bounced, complained or unsubscribed before: look under Suppressions.',
  'quota-exceeded': 'The mail quota of the domain is used up until its time is over.',
  'rate-limited': 'The program sends too fast: it should wait as long as Retry-After says.',
  'template-not-found': 'There is no template of that id or name for the domain.',
  'body-too-large': 'The request is too large: send fewer or smaller attachments.',
  'message-too-large': 'The message is too large: send fewer or smaller attachments.',
  'json-malformed': 'The program sends something that is no JSON object in UTF-8.',
  'media-type': 'The program has to send Content-Type: application/json.',
  'idempotency-key-reused':
    'The program repeats a key with another request: each request needs a key of its own.',
  'type-blocked': 'Files of this kind are refused by the setting blocked-extensions.',
};

export function adviceFor({ Name, Status, Via }: Pick<Refusal, 'Name' | 'Status' | 'Via'>): string {
  const known = Name === null ? undefined : ADVICE[Name];
  if (known !== undefined) return known;
  if (Via === 'SMTP')
    return Status < 500
      ? 'The sender tries again by itself.'
      : 'The program has to change what it sends; the same command is refused again.';
  if (Status === 401) return 'The program has to send a valid token.';
  if (Status === 403) return 'The token is valid but may not do this.';
  if (Status === 404 || Status === 405)
    return 'The program asks for something that is not there: look at its address and method.';
  if (Status === 429 || Status === 503) return 'The program should wait and try again.';
  return 'The program has to change the request; the same one is refused again.';
}
