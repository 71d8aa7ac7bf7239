/**
 * Names of hosts in a normalised reply. A name says nothing by the words in it: `relays.example.org` is not about relaying.
 * Only what looks for lists, and what looks for a name itself, reads them. Links and addresses are left as they are.
 */

const HOST =
  /(?<![@/\w.-])(?:[a-z0-9_-]{1,63}\.){1,8}(?:com|net|org|info|biz|edu|gov|mil|int|arpa|name|pro|cloud|email|online|host|local|lan|internal|example|test|invalid|[a-z]{2})(?![\w@/-]|\.\w)/g;

/** The reply with each host name replaced by `by`: a name that has no words, if nothing is given. */
export function withoutHosts(subject: string, by: string | ((host: string) => string) = 'a.aa'): string {
  return subject.includes('.') ? subject.replace(HOST, by as (host: string) => string) : subject;
}
