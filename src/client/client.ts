/**
 * The client: an object with a method for each operation, with the names of the API. It takes a base URL and a token.
 * Methods return what the reference describes, and throw `PostriderError` if the server refuses. There are no
 * dependencies; `fetch` and Web Crypto are needed.
 *
 *     const postrider = createPostrider({ baseUrl: 'https://mail.example.com', token });
 *     const { MessageID } = await postrider.send({
 *       From: { email: 'shop@example.com', name: 'Shop' }, To: [{ email: 'ada@example.net' }],
 *       Subject: 'Your receipt', HTMLContent: '<p>Thank you.</p>',
 *     });
 */
import type {
  CancelAnswer,
  Domain,
  DomainList,
  EmailAnswer,
  Me,
  MessageList,
  MessageSummary,
  MessageWithContents,
  NewWebhookAnswer,
  RetryAnswer,
  StatsAnswer,
  StreamedEvent,
  Suppression,
  SuppressionDetail,
  SuppressionList,
  SuppressionsAdded,
  Timeline,
  UpdateWebhookRequest,
  WebhookDetail,
  WebhookList,
  WebhookRecord,
  WebhookTest,
} from './api-types.ts';
import { type CallOptions, type ClientOptions, createCaller, pathPart } from './caller.ts';
import { everyItem, followed } from './many.ts';
import type {
  MessageQuery,
  NewSuppression,
  NewWebhook,
  PageRequest,
  SendRequest,
  StatsQuery,
  SuppressionQuery,
} from './requests.ts';
import { sandboxMethods } from './sandbox.ts';

export type Postrider = ReturnType<typeof createPostrider>;

/** Throws TypeError if an option is malformed. */
export function createPostrider(options: ClientOptions) {
  const caller = createCaller(options);
  const get = <Answer>(path: string, query: object = {}, call?: CallOptions) =>
    caller.json<Answer>({ method: 'GET', path, query: { ...query } }, call);
  const post = <Answer>(path: string, body: unknown, call?: CallOptions) =>
    caller.json<Answer>({ method: 'POST', path, body }, call);

  return {
    /** Sends a message. When this resolves, it is stored on the server's disk, but not delivered yet. */
    send: (message: SendRequest, call?: CallOptions) =>
      post<EmailAnswer>('/email', wireMessage(message), call),

    messages: {
      list: (query: MessageQuery = {}, call?: CallOptions) => get<MessageList>('/email', query, call),
      /** All messages that match; the loop requests further pages as it needs them. */
      all: (query: MessageQuery = {}) => everyItem<MessageSummary>(caller, '/email', query),
      get: (id: string, call?: CallOptions) => get<MessageWithContents>(`/email/${pathPart(id)}`, {}, call),
      /** The timeline, oldest first. */
      events: (id: string, query: PageRequest = {}, call?: CallOptions) =>
        get<Timeline>(`/email/${pathPart(id)}/events`, query, call),
      /** message/rfc822 as it was composed. */
      raw: (id: string, call?: CallOptions) =>
        caller.bytes({ method: 'GET', path: `/email/${pathPart(id)}/raw` }, call),
      cancel: (id: string, call?: CallOptions) =>
        post<CancelAnswer>(`/email/${pathPart(id)}/cancel`, undefined, call),
      retry: (id: string, call?: CallOptions) =>
        post<RetryAnswer>(`/email/${pathPart(id)}/retry`, undefined, call),
    },

    /**
     * Events as they happen. To continue after an interruption, pass the last `id`. Ends when `signal` is aborted or the
     * server closes.
     */
    async *events(
      query: { lastEventId?: string; signal?: AbortSignal } = {},
    ): AsyncGenerator<{ id: string; event: StreamedEvent }> {
      for await (const { id, data } of followed(caller, '/events/stream', query))
        yield { id, event: JSON.parse(data) };
    },

    stats: (query: StatsQuery = {}, call?: CallOptions) => get<StatsAnswer>('/stats', query, call),
    me: (call?: CallOptions) => get<Me>('/me', {}, call),

    webhooks: {
      list: async (query: { Domain?: string } = {}, call?: CallOptions): Promise<readonly WebhookRecord[]> =>
        (await get<WebhookList>('/webhooks', query, call)).Webhooks,
      /** `Secret` is shown only here: keep it for `verifyWebhook`. */
      create: (webhook: NewWebhook, call?: CallOptions) => post<NewWebhookAnswer>('/webhooks', webhook, call),
      get: (id: number, call?: CallOptions) => get<WebhookDetail>(`/webhooks/${pathPart(id)}`, {}, call),
      update: (id: number, change: UpdateWebhookRequest, call?: CallOptions) =>
        caller.json<WebhookDetail>(
          { method: 'PATCH', path: `/webhooks/${pathPart(id)}`, body: change },
          call,
        ),
      delete: (id: number, call?: CallOptions) =>
        caller.json<object>({ method: 'DELETE', path: `/webhooks/${pathPart(id)}` }, call),
      /** Calls the webhook now, with a sample event. */
      test: (id: number, call?: CallOptions) =>
        post<WebhookTest>(`/webhooks/${pathPart(id)}/test`, undefined, call),
    },

    domains: {
      list: (query: PageRequest = {}, call?: CallOptions) => get<DomainList>('/domains', query, call),
      get: (name: string, call?: CallOptions) => get<Domain>(`/domains/${pathPart(name)}`, {}, call),
      add: (name: string, call?: CallOptions) => post<Domain>('/domains', { Domain: name }, call),
      /** Looks the DNS records up now. */
      verify: (name: string, call?: CallOptions) =>
        post<Domain>(`/domains/${pathPart(name)}/verify`, undefined, call),
    },

    suppressions: {
      list: (query: SuppressionQuery = {}) => get<SuppressionList>('/suppressions', query),
      all: (query: SuppressionQuery = {}) => everyItem<Suppression>(caller, '/suppressions', query),
      get: (email: string, query: { Domain?: string } = {}, call?: CallOptions) =>
        get<SuppressionDetail>(`/suppressions/${pathPart(email)}`, query, call),
      /** At most 1000 at once. */
      add: (items: readonly NewSuppression[], query: { Domain?: string } = {}, call?: CallOptions) =>
        post<SuppressionsAdded>('/suppressions', { Items: items, ...query }, call),
      remove: (email: string, query: { Domain?: string; Reason?: string } = {}, call?: CallOptions) =>
        caller.json<object>(
          { method: 'DELETE', path: `/suppressions/${pathPart(email)}`, query: { ...query } },
          call,
        ),
    },

    /** Captured mail: waiting for it, reading it, and rules that simulate results. */
    sandbox: sandboxMethods(caller),
  };
}

/** Bytes turned to text at once: more arguments than this would not fit on the stack. */
const CHUNK = 0x8000;

/** The body of POST /email, or an item of a batch: bytes become base64, instants text, and ContentType is added. */
function wireMessage(message: SendRequest): object {
  const { Attachments: files, SendAt: sendAt, ExpiresAt: expiresAt, ...rest } = message;
  return {
    // A template has a content type of its own.
    ...(message.TemplateID === undefined
      ? { ContentType: message.HTMLContent === undefined ? 'Text' : 'HTML' }
      : {}),
    ...rest,
    ...(sendAt === undefined ? {} : { SendAt: instantText(sendAt) }),
    ...(expiresAt === undefined ? {} : { ExpiresAt: instantText(expiresAt) }),
    ...(files === undefined
      ? {}
      : { Attachments: files.map((file) => ({ ...file, Content: base64(file.Content) })) }),
  };
}

/** Base64 of bytes. A text counts as base64 already, and what is neither is left to the server to refuse. */
export function base64(content: Uint8Array | string): string {
  // Not instanceof: the bytes of a test runner can be of another realm.
  if (!ArrayBuffer.isView(content)) return content;
  let text = '';
  for (let at = 0; at < content.length; at += CHUNK) {
    text += String.fromCharCode(...content.subarray(at, at + CHUNK));
  }
  return btoa(text);
}

function instantText(value: Date | string | number): string | number {
  return value instanceof Date ? value.toISOString() : value;
}
