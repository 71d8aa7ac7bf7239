/** Answers in several parts: lists, page by page, and streams of server-sent events. */
import type { Caller, CallOptions, QueryValue } from './caller.ts';
import { type StreamedEvent, streamedEvents } from './event-stream.ts';
import type { PageRequest } from './requests.ts';

/** A page of a list; `NextCursor` is null on the last one. */
export interface Page<Item> {
  Items: readonly Item[];
  HasMore: boolean;
  NextCursor: string | null;
}

/** Where a stream begins and how it is ended. */
export interface FollowOptions {
  /** `id` of the last event that was seen: the stream continues after it. Absent: it begins now. */
  lastEventId?: string;
  signal?: AbortSignal;
}

/** The items of a list; further pages are requested as the loop needs them. */
export async function* everyItem<Item>(
  caller: Caller,
  path: string,
  query: PageRequest,
  call?: CallOptions,
): AsyncGenerator<Item> {
  for (let cursor = query.After; ; ) {
    const page: Page<Item> = await caller.json<Page<Item>>(
      {
        method: 'GET',
        path,
        query: { Limit: 100, ...query, ...(cursor === undefined ? {} : { After: cursor }) },
      },
      call,
    );
    yield* page.Items;
    if (!page.HasMore || page.NextCursor === null) return;
    cursor = page.NextCursor;
  }
}

/** The events of a stream as they come. Ends when the server closes, `signal` is aborted, or the loop is left. */
export async function* followed(
  caller: Caller,
  path: string,
  { lastEventId, signal }: FollowOptions,
  query: Readonly<Record<string, QueryValue>> = {},
): AsyncGenerator<StreamedEvent> {
  const response = await caller.stream(
    { method: 'GET', path, query },
    {
      ...(signal === undefined ? {} : { signal }),
      headers: {
        accept: 'text/event-stream',
        ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
      },
    },
  );
  yield* streamedEvents(response);
}
