/**
 * Parts of an accepted message for a browser, while its content is kept: GET /email/{MessageID}/html, and
 * …/attachments/{place}. Takes the caller's domains; the page and the files are made as for a captured copy.
 */
import { z } from 'zod';
import type { Caller } from '../../../model/submission.ts';
import { sharersOf } from '../../../policy/access/rights.ts';
import type { ApiParts } from '../deps.ts';
import { rawOperation } from '../operation.ts';
import { type ApiRoute, refuse } from '../route.ts';
import { fileAnswer, PAGE_QUERY, pageAnswer } from '../sandbox/mail-parts.ts';
import { ownMessage } from '../tenancy.ts';

export function messagePartOperations({ store, captured }: ApiParts): readonly ApiRoute[] {
  return [
    rawOperation('GET /email/:id/html', {
      id: 'getEmailPage',
      scope: 'email:read',
      summary: 'Show a message as a page',
      description:
        'As it was composed, as a page for a browser: like `GET /sandbox/messages/{id}/html`. Personal links and the tracking pixel lead nowhere',
      query: PAGE_QUERY,
      answer: z.string(),
      media: 'text/html',
      errors: ['content-expired'],
      handle: async ({ caller, params, query }) =>
        pageAnswer(captured, await contentOf(caller, params.id), sharersOf(caller), query.RemoteImages),
    }),
    rawOperation('GET /email/:id/attachments/:place', {
      id: 'getEmailAttachment',
      scope: 'email:read',
      summary: 'Download a file of a message',
      description: 'One of its files, as a download: `place` is its index in `Attachments`, from 0',
      answer: z.string(),
      media: '*/*',
      errors: ['content-expired'],
      handle: async ({ caller, params }) =>
        fileAnswer(captured, () => contentOf(caller, params.id), sharersOf(caller), params.place),
    }),
  ];

  async function contentOf(caller: Caller, id: string): Promise<Uint8Array> {
    const message = await ownMessage(store, caller, id);
    const bytes = await store.readContent({ messageSeq: message.seq });
    if (bytes === null) throw refuse('content-expired');
    return bytes;
  }
}
