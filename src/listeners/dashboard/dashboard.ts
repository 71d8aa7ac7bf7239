/**
 * The dashboard's files at the root of the API's port. Given the folder that the build leaves, read once; leaves routes:
 *
 *   GET /              the page; for programs (`Accept` without text/html) where the API and its documentation are
 *   GET /inbox, /inbox/…, /messages, … the same page, whose script shows the place that the address names
 *   GET /preview, /preview/pictures an empty page into which the dashboard writes HTML that is not its own
 *   GET /assets/…      files whose name holds a hash of their content, for ever
 *
 * Nothing here needs a token: the files are the same for everybody, and what they show comes from the API. Where nothing
 * was built, the page says how to build it. At an address that nothing is at, the page says so to a browser, with status 404.
 */
import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { PlainAnswer, PlainRequest, PlainRoute } from '../../lib/plain-route.ts';

type Answer = Required<PlainAnswer>;

interface DashboardRoute extends PlainRoute {
  handle(request: Pick<PlainRequest, 'params' | 'header'>): Answer;
}

/** First segments of the page's own URLs: `router.tsx` of the dashboard has the same. */
const PLACES = [
  'overview',
  'inbox',
  'messages',
  'queue',
  'domains',
  'webhooks',
  'suppressions',
  'templates',
  'access',
  'system',
  // Where the identity provider sends browsers back to.
  'sign-in',
] as const;

/** Nothing from other origins, nothing inline, no framing. Captured mail is shown in frames with their own policy. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; font-src 'self'; connect-src 'self'; " +
  "frame-src 'self' blob:; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const SECURE = {
  'content-security-policy': POLICY,
  // The server itself gets it: it shows whether the page came through a proxy (policy/access/own-page.ts).
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
} as const;

/** Runs nothing, whoever writes into it, and loads nothing or pictures at the most. Its styles are its own. */
function previewPolicy(img: string): string {
  return (
    `sandbox allow-same-origin; default-src 'none'; img-src ${img}; style-src 'unsafe-inline'; ` +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
  );
}

const PREVIEW =
  '<!doctype html><html><head><meta charset="utf-8"><title>Preview</title></head><body></body></html>';

const NOT_BUILT =
  '<!doctype html><html lang="en"><meta charset="utf-8"><title>postrider</title>' +
  '<p>The dashboard is not built: run <code>npm ci</code> or <code>npm run build:ui</code> in the folder of postrider, ' +
  'and start it again. The API works without it: <a href="/api/v1/docs">/api/v1/docs</a>.</p>';

export interface Dashboard {
  routes: readonly DashboardRoute[];
  /** For an address that nothing is at; null where a program asks, or nothing was built. */
  missingPage(header: PlainRequest['header']): Answer | null;
}

/** `folder` may be missing; `publicUrl` is called for each request. */
export function createDashboard(folder: string, publicUrl: () => string): Dashboard {
  const files = openBuiltFiles(folder);
  const index = files.get('index.html');

  const routes: DashboardRoute[] = [
    {
      method: 'GET',
      path: '/',
      handle: ({ header }) => (wantsPage(header('accept')) ? page(header) : whereTheApiIs()),
    },
    ...PLACES.flatMap((place): DashboardRoute[] => [
      { method: 'GET', path: `/${place}`, handle: ({ header }) => page(header) },
      { method: 'GET', path: `/${place}/*`, handle: ({ header }) => page(header) },
    ]),
    { method: 'GET', path: '/preview', handle: () => preview('data:') },
    { method: 'GET', path: '/preview/pictures', handle: () => preview('data: https: http:') },
    {
      method: 'GET',
      path: '/assets/:file',
      handle: ({ params, header }) => {
        const file = files.get(`assets/${params.file ?? ''}`);
        if (file === undefined) return missing();
        return sent(file, header, { 'cache-control': 'public, max-age=31536000, immutable' });
      },
    },
  ];
  return {
    routes,
    missingPage(header) {
      if (index === undefined || !wantsPage(header('accept'))) return null;
      // Whole, whatever the browser has: 304 would say that there is something.
      const plain = page((name) => (name === 'if-none-match' ? undefined : header(name)));
      return { ...plain, status: 404 };
    },
  };

  function page(header: PlainRequest['header']): Answer {
    const caching = { 'cache-control': 'no-cache' };
    if (index !== undefined) return sent(index, header, caching);
    return {
      status: 200,
      headers: { ...SECURE, ...caching, vary: 'accept', 'content-type': 'text/html; charset=utf-8' },
      body: NOT_BUILT,
    };
  }

  function preview(img: string): Answer {
    return {
      status: 200,
      headers: {
        ...SECURE,
        'content-security-policy': previewPolicy(img),
        'referrer-policy': 'no-referrer',
        'x-dns-prefetch-control': 'off',
        'cache-control': 'no-cache',
        'content-type': 'text/html; charset=utf-8',
      },
      body: PREVIEW,
    };
  }

  function whereTheApiIs(): Answer {
    const api = `${publicUrl()}/api/v1`;
    return {
      status: 200,
      headers: { vary: 'accept', 'content-type': 'application/json; charset=utf-8' },
      body: JSON.stringify({ API: api, Reference: `${api}/docs`, OpenAPI: `${api}/openapi.json` }),
    };
  }
}

/** The smallest form of a file that the client accepts. */
function sent(
  file: BuiltFile,
  header: PlainRequest['header'],
  more: Readonly<Record<string, string>>,
): Answer {
  const headers = {
    ...{ ...SECURE, ...more, 'content-type': file.type, etag: file.etag },
    vary: 'accept, accept-encoding',
  };
  if (names(header('if-none-match'), file.etag)) return { status: 304, headers, body: '' };
  const accepted = encodings(header('accept-encoding'));
  for (const encoding of ['br', 'gzip'] as const) {
    const body = file[encoding];
    if (body === null || !accepted.has(encoding)) continue;
    return { status: 200, headers: { ...headers, 'content-encoding': encoding }, body };
  }
  return { status: 200, headers, body: file.plain };
}

/** If-None-Match (RFC 9110 §13.1.2): a list, or `*`. */
function names(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim());
  return tags.includes(etag) || tags.includes('*');
}

function missing(): Answer {
  return {
    status: 404,
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    body: 'There is no such file; the dashboard was built anew. Load the page again.\n',
  };
}

/** Browsers ask for text/html first; programs for anything, JSON or nothing. */
function wantsPage(accept: string | undefined): boolean {
  return accept?.toLowerCase().includes('text/html') === true;
}

/** Names in an Accept-Encoding (RFC 9110 §12.5.3) except those with weight 0. */
function encodings(header: string | undefined): ReadonlySet<string> {
  const names = (header ?? '').toLowerCase().split(',');
  return new Set(
    names
      .filter((item) => !/;\s*q=0(?:\.0*)?\s*$/.test(item))
      .map((item) => (item.split(';')[0] ?? '').trim()),
  );
}

interface BuiltFile {
  type: string;
  /** Weak, because all forms of the file have the same (RFC 9110 §8.8.1). */
  etag: string;
  plain: Uint8Array;
  /** null: this form is not smaller. */
  br: Uint8Array | null;
  gzip: Uint8Array | null;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json; charset=utf-8',
};

/**
 * The built files, in memory: some hundred kilobytes. By path below the folder, with `/` between names. Files of other
 * types are left out; a missing folder gives an empty table.
 */
function openBuiltFiles(folder: string): ReadonlyMap<string, BuiltFile> {
  const names = namesBelow(folder);
  const files = new Map<string, BuiltFile>();
  const packed = (name: string) => (names.has(name) ? readFileSync(join(folder, name)) : null);
  for (const name of names) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const plain = readFileSync(join(folder, name));
    const etag = `W/"${hash('sha256', plain, 'base64url').slice(0, 22)}"`;
    files.set(name, { type, etag, plain, br: packed(`${name}.br`), gzip: packed(`${name}.gz`) });
  }
  return files;
}

function namesBelow(folder: string): ReadonlySet<string> {
  try {
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    return new Set(names.map((name) => name.replaceAll('\\', '/')));
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return new Set();
    throw cause;
  }
}
