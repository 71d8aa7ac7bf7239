/**
 * Parses captured messages: small ones on the event loop, large ones in a worker, because 17 MB took 0.7 s in which no
 * other request was served. The bytes of large ones are transferred, so the caller loses them.
 */

import { AppError } from '../../../lib/errors.ts';
import type { WorkerPool } from '../worker-pool.ts';
import type { CapturedFile } from './captured-parts.ts';
import type { SearchedText } from './captured-text.ts';
import { type CapturedAnswer, type CapturedWish, readCaptured, unreadIn } from './captured-wish.ts';

/**
 * `tenant`: workers are shared out fairly between tenants. Throws AppError unavailable if too many large messages wait,
 * request-too-complex if parsing exceeds the deadline, unless the answer can say so.
 */
export interface CapturedReader {
  /** The members of `head`, followed by those of the parsed message, or of an unreadable one, as JSON. */
  detail(
    bytes: Uint8Array,
    head: object,
    of: 'capture' | 'email',
    tenant: readonly string[],
  ): Promise<Uint8Array>;
  /** The text that searches look at. `deadlineMs`: of a worker, in place of the usual one. */
  searched(
    bytes: Uint8Array,
    tenant: readonly string[],
    more?: { deadlineMs: number },
  ): Promise<SearchedText>;
  /** The file with this index in `Attachments`; null if there is none. */
  file(bytes: Uint8Array, place: number, tenant: readonly string[]): Promise<CapturedFile | null>;
  /** As a page for a browser; null if the message cannot be parsed. */
  page(bytes: Uint8Array, tenant: readonly string[], remoteImages: boolean): Promise<Uint8Array | null>;
}

/** A reader that gives messages of more than `hereBytes` to the workers. */
export function createCapturedReader(
  workers: Pick<WorkerPool, 'run'>,
  { hereBytes }: { hereBytes: number },
): CapturedReader {
  const read = (
    bytes: Uint8Array,
    wish: CapturedWish,
    tenant: readonly string[],
    more: { deadlineMs?: number } = {},
  ): Promise<CapturedAnswer> =>
    bytes.length > hereBytes
      ? workers.run(tenant, 'captured', { body: bytes, wish }, more)
      : readCaptured(bytes, wish);
  /** Stands in for what takes too long to parse. */
  const orUnread = async (
    answer: Promise<CapturedAnswer>,
    unread: CapturedAnswer,
  ): Promise<CapturedAnswer> => {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof AppError && error.problems[0].name === 'request-too-complex') return unread;
      throw error;
    }
  };
  const unexpected = () => new Error('an answer of another kind');
  return {
    async detail(bytes, head, of, tenant) {
      const answer = await orUnread(read(bytes, { kind: 'contents', of }, tenant), {
        kind: 'contents',
        json: unreadIn(of),
      });
      if (answer.kind === 'contents') return joined(head, answer.json);
      throw unexpected();
    },
    async searched(bytes, tenant, more) {
      const answer = await read(bytes, { kind: 'search' }, tenant, more);
      if (answer.kind === 'search') return answer.inside;
      throw unexpected();
    },
    async file(bytes, place, tenant) {
      const answer = await read(bytes, { kind: 'file', place }, tenant);
      if (answer.kind === 'file') return answer.file;
      throw unexpected();
    },
    async page(bytes, tenant, remoteImages) {
      const answer = await orUnread(read(bytes, { kind: 'page', remoteImages }, tenant), {
        kind: 'page',
        page: null,
      });
      if (answer.kind === 'page') return answer.page;
      throw unexpected();
    },
  };
}

/** Joins two JSON objects, neither of them empty. */
function joined(head: object, tail: Uint8Array): Uint8Array {
  const begin = JSON.stringify(head).slice(0, -1);
  return Buffer.concat([Buffer.from(`${begin},`), tail.subarray(1)]);
}
