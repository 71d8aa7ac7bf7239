/** Captured mail as the inbox asks for it: one function an operation, and the names under which answers are kept. */
import type {
  CaptureDetail,
  CaptureList,
  CaptureSummary,
  Inbox,
  MessageWithContents,
  SandboxRule,
  SpamReport,
} from '../../src/client/api-types.ts';
import type { LiveSource } from '../components/live-list.ts';
import { call, everyItem, inWrittenOrder, open, part, type Query, text, urlOf } from './call.ts';
import { followStream } from './stream.ts';

/** What narrows the list: query parameters of `GET /sandbox/messages`. */
export type Filters = Query;

const PAGE = 100;
const FIND_TRIES = 20;
const FIND_EVERY_MS = 250;
/** Inboxes that the side shows at the most. */
const MAX_INBOX_PAGES = 5;

/** The list and its news. */
export function captureSource(filters: Filters): LiveSource<CaptureSummary> {
  return {
    idOf: captureId,
    pageSize: PAGE,
    page: (after, signal) =>
      call<CaptureList>('GET', '/sandbox/messages', {
        query: { ...filters, Limit: PAGE, After: after },
        signal,
      }),
    follow: ({ onOpen, onItem, onLost }) =>
      followStream('/sandbox/stream', filters, {
        onOpen,
        onData: (data) => onItem(inWrittenOrder(data) as CaptureSummary),
        onLost,
      }),
  };
}

/** What SpamAssassin says of it, where the operator has one. */
export function getSpam(id: string, signal?: AbortSignal): Promise<SpamReport> {
  return call('GET', `/sandbox/messages/${part(id)}/spam`, { signal });
}

export const captureId = ({ ID }: CaptureSummary): string => ID;

/** The captured copy of a message that was just accepted; null where none came in some seconds. */
export async function findCapture(messageId: string, to: string): Promise<string | null> {
  for (let tries = 0; tries < FIND_TRIES; tries += 1) {
    if (tries > 0) await new Promise((resolve) => setTimeout(resolve, FIND_EVERY_MS));
    const query = { To: to, Limit: 20 };
    const { Items } = await call<CaptureList>('GET', '/sandbox/messages', { query });
    const found = Items.find(({ MessageID }) => MessageID === messageId);
    if (found !== undefined) return found.ID;
  }
  return null;
}

/** By name; the first 500. */
export function listInboxes(signal?: AbortSignal): Promise<readonly Inbox[]> {
  return everyItem('/sandbox/inboxes', MAX_INBOX_PAGES, signal);
}

export function getCapture(id: string, signal?: AbortSignal): Promise<CaptureDetail> {
  return call('GET', `/sandbox/messages/${part(id)}`, { signal });
}

export function getSource(id: string, signal?: AbortSignal): Promise<string> {
  return text(`/sandbox/messages/${part(id)}/raw`, { signal });
}

/** `leaving`: the page is being closed, the request goes on without it. */
export async function deleteCapture(id: string, leaving = false): Promise<void> {
  await open('DELETE', `/sandbox/messages/${part(id)}`, { keepalive: leaving });
}

/** As which message it went out. */
export function releaseCapture(id: string, to: string): Promise<{ MessageID: string }> {
  return call('POST', `/sandbox/messages/${part(id)}/release`, { body: to === '' ? {} : { To: to } });
}

/** What becomes of the next mail to its recipient in the sandbox, once; gives back the id of the rule. */
export async function addResult({ MessageID, EnvelopeTo }: CaptureSummary, Result: string): Promise<string> {
  const { Domain } = await call<MessageWithContents>('GET', `/email/${part(MessageID)}`);
  const rule = { Domain, Recipient: EnvelopeTo, Result, Times: 1 };
  return (await call<SandboxRule>('POST', '/sandbox/rules', { body: rule })).RuleID;
}

export async function removeResult(ruleId: string): Promise<void> {
  await open('DELETE', `/sandbox/rules/${part(ruleId)}`);
}

/** So that other tabs and programs know, too; at most 100 at once. */
export async function markSeen(ids: readonly string[], seen: boolean): Promise<void> {
  await open('PATCH', '/sandbox/messages', { body: { Seen: seen, IDs: ids } });
}

/** All of one inbox, or of every inbox. */
export async function markAllSeen(inbox: Query[string]): Promise<void> {
  await open('PATCH', '/sandbox/messages', { query: { Inbox: inbox }, body: { Seen: true } });
}

/** All of one inbox, or of every inbox; how many there were. */
export function emptyInbox(inbox: Query[string]): Promise<{ Deleted: number }> {
  return call('DELETE', '/sandbox/messages', { query: { Inbox: inbox } });
}

export const sourceUrl = (id: string) => urlOf(`/sandbox/messages/${part(id)}/raw`);
export const pageUrl = (id: string, remoteImages: boolean) =>
  urlOf(`/sandbox/messages/${part(id)}/html`, { RemoteImages: remoteImages || undefined });
export const attachmentUrl = (id: string, place: number) =>
  urlOf(`/sandbox/messages/${part(id)}/attachments/${place}`);
