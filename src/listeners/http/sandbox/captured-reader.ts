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

type AnswerTo<Wish extends CapturedWish> = Extract<CapturedAnswer, { kind: Wish['kind'] }>;

/** A reader that gives messages of more than `hereBytes` to the workers. */
export function createCapturedReader(
  workers: Pick<WorkerPool, 'run'>,
  { hereBytes }: { hereBytes: number },
): CapturedReader {
  return {
    async detail(bytes, head, of, tenant) {
      const unread = { kind: 'contents', json: unreadIn(of) } as const;
      const { json } = await orUnread(read(bytes, { kind: 'contents', of }, tenant), unread);
      return joined(head, json);
    },
    searched: async (bytes, tenant, more) => (await read(bytes, { kind: 'search' }, tenant, more)).inside,
    file: async (bytes, place, tenant) => (await read(bytes, { kind: 'file', place }, tenant)).file,
    async page(bytes, tenant, remoteImages) {
      const unread = { kind: 'page', page: null } as const;
      return (await orUnread(read(bytes, { kind: 'page', remoteImages }, tenant), unread)).page;
    },
  };

  function read<Wish extends CapturedWish>(
    bytes: Uint8Array,
    wish: Wish,
    tenant: readonly string[],
    more: { deadlineMs?: number } = {},
  ): Promise<AnswerTo<Wish>> {
    const answer =
      bytes.length > hereBytes
        ? workers.run(tenant, 'captured', { body: bytes, wish }, more)
        : readCaptured(bytes, wish);
    return answer as Promise<AnswerTo<Wish>>;
  }
}

/** `unread` stands in for what takes too long to parse. */
async function orUnread<Answer>(answer: Promise<Answer>, unread: Answer): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof AppError && error.problems[0].name === 'request-too-complex') return unread;
    throw error;
  }
}

/** Joins two JSON objects, neither of them empty. */
function joined(head: object, tail: Uint8Array): Uint8Array {
  const begin = JSON.stringify(head).slice(0, -1);
  return Buffer.concat([Buffer.from(`${begin},`), tail.subarray(1)]);
}
