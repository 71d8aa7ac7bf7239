/**
 * Whether a reply quotes what another server answered to the one that replies: a forwarder, a gateway, a check of the
 * recipient at its own server. What is said of an address in the quotation is said of that server's address, not of
 * ours. Takes a normalised reply (normalise.ts); linear in it.
 */

const QUOTED = new RegExp(
  [
    '\\b(?:host|server|mta|mx|relay) \\S{1,200} (?:said|replied|answered|responded|returned)\\b',
    '\\b(?:remote|next|destination|upstream|downstream|backend|target|forwarding) (?:mail ?|smtp ?)?(?:host|server|mta|hop|site|system|end)\\b.{0,40}\\b(?:said|replied|answered|responded|returned|rejected)\\b',
    '\\b(?:said|replied|answered|responded|returned):? [\'"]?[45]\\d\\d[ -]',
    '\\bby (?:the |its )?(?:remote|next|destination|upstream|downstream|backend|target|forwarding) ?(?:mail ?|smtp ?)?(?:host|server|mta|hop|site|system)?: [\'"]?[45]\\d\\d[ -]',
    // Barracuda, of each recipient.
    '\\([^\\s@()]{1,64}@[^\\s@()]{1,255}: ?[45]\\d\\d[ -]',
    '\\(in reply to [a-z ]{1,30}\\bcommand\\)',
    // Postfix, of a server that it asked about the recipient or passes mail to.
    '\\b(?:host|server) \\S{1,200} refused to talk to me\\b|\\btls is required, but (?:was not offered by host|our tls engine)',
  ].join('|'),
);

/** Whether another server's reply is quoted. */
export function quotesReply(subject: string): boolean {
  return QUOTED.test(subject);
}
