/**
 * Whether a program, not a reader, fetched a personal link, by its User-Agent. Signs that need time (many links at
 * once, a click at the moment of delivery) are found where the facts are collected and stored. A mark is only an
 * opinion: the fact is stored in any case, with `Bot` and the reason.
 */

const IMAGE_PROXIES: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/GoogleImageProxy/i, "Google's image proxy"],
  [/YahooMailProxy/i, "Yahoo's image proxy"],
  [/DuckDuckGo-Favicons|FeedFetcher|Mailspring-Proxy/i, 'an image proxy'],
];

/** Apple's privacy proxy fetches images before the reader opens the mail, with exactly this User-Agent. */
const APPLE_PROXY = /^Mozilla\/5\.0$/;
const SCANNERS =
  /barracuda|proofpoint|mimecast|safelinks|messagelabs|symantec|trendmicro|ironport|forcepoint|fireeye/i;
const CRAWLERS =
  /bot\b|bots\b|crawl|spider|slurp|scan|preview|fetcher|monitor|validator|linkcheck|facebookexternalhit/i;
const LIBRARIES =
  /^(?:curl|wget|python|go-http-client|java|okhttp|axios|node|undici|got |php|perl|ruby|libwww|lwp|httpie|postman|insomnia|apache-httpclient|guzzle|scrapy|aiohttp|restsharp|powershell)|headless|phantomjs|selenium|puppeteer|playwright|electron\/.*headless/i;
const OFFICE_CHECK = /microsoft office existence discovery|ms-office|msoffice.*existence/i;

/** Why a program with this User-Agent is not a reader's own, or null. */
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
