/**
 * What a browser gets of a captured or sent mail: its page and its files. The mail is not trusted: in the page nothing runs
 * and nothing is loaded (`captured-page.ts`), and files are downloads.
 */
import { flag } from '../query.ts';
import { type ApiAnswer, refuse } from '../route.ts';
import { pagePolicy } from './captured-page.ts';
import { downloadAs } from './captured-parts.ts';
import type { CapturedReader } from './captured-reader.ts';

export const PAGE_QUERY = {
  RemoteImages: flag().default(false).describe('Load pictures from elsewhere'),
};

/** Throws AppError not-found where the mail cannot be read. `tenant`: who waits where it takes a worker. */
export async function pageAnswer(
  captured: Pick<CapturedReader, 'page'>,
  bytes: Uint8Array,
  tenant: readonly string[],
  remoteImages: boolean,
): Promise<ApiAnswer> {
  const page = await captured.page(bytes, tenant, remoteImages);
  if (page === null) throw refuse('not-found', 'The message is not readable as MIME; use its raw bytes');
  return {
    status: 200,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': pagePolicy(remoteImages),
      'referrer-policy': 'no-referrer',
      'x-dns-prefetch-control': 'off',
      'cross-origin-resource-policy': 'same-origin',
    },
    body: page,
  };
}

/** `place`: as it stands in the path. Throws AppError not-found where there is no such file; `bytes` is asked after that. */
export async function fileAnswer(
  captured: Pick<CapturedReader, 'file'>,
  bytes: () => Promise<Uint8Array>,
  tenant: readonly string[],
  place: string,
): Promise<ApiAnswer> {
  const file = /^[0-9]{1,4}$/.test(place) ? await captured.file(await bytes(), Number(place), tenant) : null;
  if (file === null) throw refuse('not-found', 'Attachments are numbered from 0, in the order of the list');
  return {
    status: 200,
    headers: {
      'content-type': file.type,
      'content-disposition': downloadAs(file.filename),
      'content-security-policy': "sandbox; default-src 'none'",
      'cross-origin-resource-policy': 'same-origin',
    },
    body: file.content,
  };
}
