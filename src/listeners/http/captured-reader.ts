/**
 * Reading captured messages where it does no harm: small ones here, large ones in a worker, because 17 MB took 0.7 s that
 * everybody else waited. Given the bytes, which it takes over where they are large; leaves what was asked for.
 */
import type { CapturedContents } from './captured-mail.ts';
import type { CapturedFile } from './captured-parts.ts';
import { type CapturedAnswer, type CapturedWish, readCaptured } from './captured-wish.ts';
import type { EmailWorkerPool } from './email-worker-pool.ts';

/** Refusals: AppError unavailable where too many large ones wait. */
export interface CapturedReader {
  contents(bytes: Uint8Array): Promise<CapturedContents>;
  /** The file at that place of `Attachments`; null where there is none. */
  file(bytes: Uint8Array, place: number): Promise<CapturedFile | null>;
  /** As a page for a browser; null where the message cannot be read. */
  page(bytes: Uint8Array): Promise<string | null>;
}

/** A reader that leaves to the workers what has more octets than `workerThresholdBytes`. */
export function createCapturedReader(
  workers: Pick<EmailWorkerPool, 'readCaptured'>,
  options: { workerThresholdBytes: number },
): CapturedReader {
  const read = (bytes: Uint8Array, wish: CapturedWish): Promise<CapturedAnswer> =>
    bytes.length > options.workerThresholdBytes
      ? workers.readCaptured({ body: bytes, wish })
      : readCaptured(bytes, wish);
  return {
    async contents(bytes) {
      const answer = await read(bytes, { kind: 'contents' });
      if (answer.kind === 'contents') return answer.contents;
      throw new Error('an answer of another kind');
    },
    async file(bytes, place) {
      const answer = await read(bytes, { kind: 'file', place });
      if (answer.kind === 'file') return answer.file;
      throw new Error('an answer of another kind');
    },
    async page(bytes) {
      const answer = await read(bytes, { kind: 'page' });
      if (answer.kind === 'page') return answer.page;
      throw new Error('an answer of another kind');
    },
  };
}
