/** Accepted mail as the messages ask for it: one function an operation. */
import type {
  CancelAnswer,
  Email,
  EmailAnswer,
  MessageList,
  MessageSummary,
  MessageWithContents,
  RetryAnswer,
  TimelineEntry,
} from '../../src/client/api-types.ts';
import type { LiveSource } from '../components/live-list.ts';
import { ApiError, call, everyItem, part, type Query, text, urlOf } from './call.ts';
import { followStream } from './stream.ts';

const PAGE = 100;
/** Pages of a timeline that are read at the most. */
const MAX_TIMELINE_PAGES = 10;
/** While mail pours through, the list is read so much later again. */
const REST_MS = 2_000;

/** The list and its news: whatever happens to a message, the newest page is read again. */
export function messageSource(filters: Query): LiveSource<MessageSummary> {
  const { Domain, Tag, To } = filters;
  return {
    idOf: messageIdOf,
    pageSize: PAGE,
    page: (after, signal) =>
      call<MessageList>('GET', '/email', { query: { ...filters, Limit: PAGE, After: after }, signal }),
    follow: ({ onOpen, onLost }) =>
      followStream(
        '/events/stream',
        { Domain, Tag, Recipient: To },
        {
          onOpen,
          onData: () => {},
          // Who may not follow events, or follows too much already, still reads the list.
          onLost: (error) => (error instanceof ApiError ? onOpen() : onLost(error)),
        },
        { restMs: REST_MS },
      ),
  };
}

export const messageIdOf = ({ MessageID }: MessageSummary): string => MessageID;

export function getMessage(id: string, signal?: AbortSignal): Promise<MessageWithContents> {
  return call('GET', `/email/${part(id)}`, { signal });
}

/** What happened, oldest first; of very long ones the beginning. */
export function getTimeline(id: string, signal?: AbortSignal): Promise<readonly TimelineEntry[]> {
  return everyItem(`/email/${part(id)}/events`, MAX_TIMELINE_PAGES, signal);
}

/** Calls back with every event of one message, and when the connection has begun anew. */
export function followMessage(id: string, onNews: () => void): () => void {
  return followStream(
    '/events/stream',
    { MessageID: id },
    { onOpen: onNews, onData: onNews, onLost: () => {} },
  );
}

export function sendEmail(email: Email): Promise<EmailAnswer> {
  return call('POST', '/email', { body: email });
}

export function cancelMessage(id: string): Promise<CancelAnswer> {
  return call('POST', `/email/${part(id)}/cancel`);
}

export function retryMessage(id: string): Promise<RetryAnswer> {
  return call('POST', `/email/${part(id)}/retry`);
}

/** As which message the copy went out. */
export function resendMessage(id: string, to: string): Promise<{ MessageID: string }> {
  return call('POST', `/email/${part(id)}/resend`, { body: { To: to } });
}

export function getMessageSource(id: string, signal?: AbortSignal): Promise<string> {
  return text(`/email/${part(id)}/raw`, { signal });
}

export const messageSourceUrl = (id: string) => urlOf(`/email/${part(id)}/raw`);
export const messagePageUrl = (id: string, remoteImages: boolean) =>
  urlOf(`/email/${part(id)}/html`, { RemoteImages: remoteImages || undefined });
export const messageFileUrl = (id: string, place: number) => urlOf(`/email/${part(id)}/attachments/${place}`);
