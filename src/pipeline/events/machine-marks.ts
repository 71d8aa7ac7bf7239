/**
 * Whether a program, not a reader, fetched a personal link: what its name says. What only time can
 * tell (many links at once, a click at the moment of delivery) is judged where the facts are gathered and stored.
 * Pure. A mark is an opinion: the fact is stored all the same, with `Bot` and the reason.
 */

const IMAGE_PROXIES: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/GoogleImageProxy/i, "Google's image proxy"],
  [/YahooMailProxy/i, "Yahoo's image proxy"],
  [/DuckDuckGo-Favicons|FeedFetcher|Mailspring-Proxy/i, 'an image proxy'],
];

/** Apple's privacy proxy fetches pictures ahead of the reader and calls itself just this. */
const APPLE_PROXY = /^Mozilla\/5\.0$/;
const SCANNERS =
  /barracuda|proofpoint|mimecast|safelinks|messagelabs|symantec|trendmicro|ironport|forcepoint|fireeye/i;
const CRAWLERS =
  /bot\b|bots\b|crawl|spider|slurp|scan|preview|fetcher|monitor|validator|linkcheck|facebookexternalhit/i;
const LIBRARIES =
  /^(?:curl|wget|python|go-http-client|java|okhttp|axios|node|undici|got |php|perl|ruby|libwww|lwp|httpie|postman|insomnia|apache-httpclient|guzzle|scrapy|aiohttp|restsharp|powershell)|headless|phantomjs|selenium|puppeteer|playwright|electron\/.*headless/i;
const OFFICE_CHECK = /microsoft office existence discovery|ms-office|msoffice.*existence/i;

/** Why a program of this name is none of a reader's own, or null. */
export function machineReason(userAgent: string): string | null {
  const name = userAgent.trim();
  if (name === '') return 'a program that does not give its name';
  if (APPLE_PROXY.test(name)) return "Apple's privacy proxy";
  for (const [pattern, reason] of IMAGE_PROXIES) if (pattern.test(name)) return reason;
  if (SCANNERS.test(name)) return 'a mail scanner';
  if (OFFICE_CHECK.test(name)) return 'a link check of an office program';
  if (LIBRARIES.test(name)) return 'a program of a data centre';
  if (CRAWLERS.test(name)) return 'a robot';
  return null;
}
