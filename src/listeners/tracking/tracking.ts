/**
 * Where personal links lead: the open pixel, the redirect of a tracked link, and unsubscribing (RFC 8058).
 *
 *   GET /o/{token}          a picture of one point
 *   GET /c/{token}/{target} 302 to the target that stands in the URL under the token's MAC
 *   GET /u/{token}          a page with a button; changes nothing, because scanners follow links
 *   POST /u/{token}         unsubscribes; no cookie, no login, no redirect; repeating it is harmless
 *
 * Given requests from anyone; leaves facts. A token is good only for its purpose, its target and the host it was made
 * for, so no link can be altered, moved to another customer's host, or made to lead elsewhere: whatever does not fit is
 * 404. Redirects ask no store and work for as long as the key is kept. HEAD is answered and never counts.
 */
import { isIP } from 'node:net';
import { AppError } from '../../lib/errors.ts';
import type { PlainAnswer, PlainRequest, PlainRoute } from '../../lib/plain-route.ts';
import { type PersonalPurpose, type PersonalTokens, targetDigest } from '../../mail/personal-token.ts';
import type { ReaderFacts, Visitor } from '../../pipeline/events/reader-facts.ts';
import { ASK_PAGE, DONE_PAGE, LATER_PAGE, TOO_OLD_PAGE, UNKNOWN_PAGE } from './pages.ts';

export interface TrackingDeps {
  tokens: PersonalTokens;
  facts: Pick<ReaderFacts, 'opened' | 'clicked' | 'looked' | 'unsubscribe'>;
  /** The server's own URL, whose host accepts tokens without a tracking host. */
  publicUrl(): string;
}

/** One transparent point. */
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
const MAX_BODY_BYTES = 64 * 1024;
const MAX_TARGET_CHARS = 12_000;
const BASE64URL = /^[A-Za-z0-9_-]+$/;
const VISIBLE_ASCII = /^https?:\/\/[!-~]+$/;

const COMMON = {
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex',
  'x-frame-options': 'DENY',
} as const;

/** The routes, from the root. */
export function createTrackingRoutes({ tokens, facts, publicUrl }: TrackingDeps): readonly PlainRoute[] {
  return [
    route('GET', '/o/:token', (request) => {
      const found = read(request, 'o', request.params.token ?? '', '');
      if (found === null) return unknown();
      if (request.method === 'GET') facts.opened(found.deliveryId, visitorOf(request));
      return {
        status: 200,
        headers: {
          ...COMMON,
          'content-type': 'image/gif',
          'content-security-policy': "default-src 'none'; sandbox",
          'cross-origin-resource-policy': 'cross-origin',
        },
        body: PIXEL,
      };
    }),
    route('GET', '/c/*', (request) => {
      const [token = '', encoded = '', ...more] = (request.params['*'] ?? '').split('/');
      const target = more.length === 0 ? targetOf(encoded) : null;
      const found = target === null ? null : read(request, 'c', token, targetDigest(target));
      if (found === null || target === null) return unknown();
      if (request.method === 'GET') {
        facts.clicked(found.deliveryId, found.link, target, visitorOf(request));
      }
      return {
        status: 302,
        headers: {
          ...COMMON,
          location: target,
          'content-type': 'text/plain; charset=utf-8',
          'content-security-policy': "default-src 'none'; sandbox",
        },
        body: '',
      };
    }),
    route('GET', '/u/:token', (request) => {
      const found = read(request, 'u', request.params.token ?? '', '');
      if (found === null) return unknown();
      if (request.method === 'GET') facts.looked(found.deliveryId);
      return htmlPage(200, ASK_PAGE);
    }),
    route('POST', '/u/:token', async (request) => {
      const found = read(request, 'u', request.params.token ?? '', '');
      if (found === null) return unknown();
      try {
        const result = await facts.unsubscribe(found.deliveryId, visitorOf(request), 'one-click');
        return result === 'done' ? htmlPage(200, DONE_PAGE) : htmlPage(410, TOO_OLD_PAGE);
      } catch (cause) {
        if (!(cause instanceof AppError) || cause.problems[0].name !== 'unavailable') throw cause;
        return htmlPage(503, LATER_PAGE, { 'retry-after': '60' });
      }
    }),
  ];

  function read(request: PlainRequest, purpose: PersonalPurpose, token: string, digest: string) {
    const host = request.host.toLowerCase().replace(/\.$/, '');
    const bound = host === '' ? null : tokens.parse({ purpose, host, digest }, token);
    if (bound !== null) return bound;
    return isOurs(host) ? tokens.parse({ purpose, host: '', digest }, token) : null;
  }

  /** The host of the public URL, or an IP address: never a customer's host. */
  function isOurs(host: string): boolean {
    if (host === 'localhost' || isIP(host.replace(/^\[|\]$/g, '')) !== 0) return true;
    const own = publicUrl();
    return URL.canParse(own) && new URL(own).hostname === host;
  }
}

function route(method: PlainRoute['method'], path: string, handle: PlainRoute['handle']): PlainRoute {
  return { method, path, maxBodyBytes: MAX_BODY_BYTES, handle };
}

/** The target in a path, or null for anything that compose would not have written. */
function targetOf(encoded: string): string | null {
  if (encoded.length > MAX_TARGET_CHARS || !BASE64URL.test(encoded)) return null;
  const target = Buffer.from(encoded, 'base64url').toString('latin1');
  // Other spellings of the same octets are refused.
  if (Buffer.from(target, 'latin1').toString('base64url') !== encoded) return null;
  return VISIBLE_ASCII.test(target) && URL.canParse(target) ? target : null;
}

function visitorOf(request: PlainRequest): Visitor {
  return { ip: request.ip, userAgent: request.header('user-agent') ?? '' };
}

function unknown(): PlainAnswer {
  return htmlPage(404, UNKNOWN_PAGE);
}

function htmlPage(status: number, body: string, more: Readonly<Record<string, string>> = {}): PlainAnswer {
  return {
    status,
    headers: {
      ...COMMON,
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy':
        "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
      ...more,
    },
    body,
  };
}
