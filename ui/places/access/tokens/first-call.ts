/** A command that tries a new token, as it can be pasted into a shell. Pure. */
import type { Me } from '../../../../src/client/api-types.ts';

/**
 * Sends a mail that is captured and never leaves where one of the token's domains can send; otherwise asks what the token
 * is. A token has no character that a shell would read.
 */
export function firstCall(given: {
  origin: string;
  token: string;
  mayHearOf: Pick<Me, 'Domains'>['Domains'];
  domains: readonly string[];
}): string {
  const { origin, token, domains } = given;
  const domain = given.mayHearOf.find(
    ({ Domain, Status }) =>
      (Status === 'Verified' || Status === 'Failing') && (domains.includes(Domain) || domains.includes('*')),
  )?.Domain;
  if (domain === undefined) return `curl -sS ${origin}/api/v1/me -H 'Authorization: Bearer ${token}'`;
  const body = {
    From: { email: `hello@${domain}` },
    To: [{ email: 'you@example.net' }],
    Subject: 'Hello',
    ContentType: 'Text',
    PlainContent: 'It works.',
    Sandbox: true,
  };
  return [
    `curl -sS ${origin}/api/v1/email \\`,
    `  -H 'Authorization: Bearer ${token}' \\`,
    "  -H 'Content-Type: application/json' \\",
    `  -d '${JSON.stringify(body)}'`,
  ].join('\n');
}
