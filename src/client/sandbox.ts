/**
 * The client's methods for tests: wait for captured mail, list, read and follow it, empty inboxes, release mail, simulate
 * faults. If a wait is longer than the server keeps a request open, the request is repeated.
 */
import type {
  CaptureDetail,
  CaptureList,
  CaptureSummary,
  InboxList,
  Released,
  SandboxRule,
} from './api-types.ts';
import { type Caller, type CallOptions, pathPart } from './caller.ts';
import { PostriderError } from './errors.ts';
import { everyItem, type FollowOptions, followed } from './many.ts';
import type { CaptureFilter, CaptureQuery, NewSandboxRule, PageRequest } from './requests.ts';

/** Longest single wait the server keeps open, in seconds. */
const LONGEST_WAIT = 60;
const USUAL_WAIT = 30;
const ANSWER_MARGIN_MS = 10_000;

/** The methods below `sandbox`. */
export function sandboxMethods(caller: Caller) {
  const of = (id: string, more = ''): string => `/sandbox/messages/${pathPart(id)}${more}`;
  const get = <Answer>(path: string, query: object = {}, call?: CallOptions) =>
    caller.json<Answer>({ method: 'GET', path, query: { ...query } }, call);
  const remove = (path: string, query: object = {}, call?: CallOptions) =>
    caller.json<{ Deleted: number }>({ method: 'DELETE', path, query: { ...query } }, call);

  return {
    /** Newest first. */
    list: (query: CaptureQuery = {}, call?: CallOptions) =>
      get<CaptureList>('/sandbox/messages', query, call),
    /** All captures that match; the loop requests further pages as it needs them. */
    all: (query: CaptureQuery = {}) => everyItem<CaptureSummary>(caller, '/sandbox/messages', query),
    get: (id: string, call?: CallOptions) => get<CaptureDetail>(of(id), {}, call),
    /** message/rfc822, exactly the bytes that would have been sent. */
    raw: (id: string, call?: CallOptions) => caller.bytes({ method: 'GET', path: of(id, '/raw') }, call),
    /** As an HTML page for a browser, in which nothing runs and nothing is loaded. */
    html: async (id: string, call?: CallOptions): Promise<string> =>
      new TextDecoder().decode(await caller.bytes({ method: 'GET', path: of(id, '/html') }, call)),
    /** One file; `place` is its index in `Attachments`, from 0. */
    attachment: (id: string, place: number, call?: CallOptions) =>
      caller.bytes({ method: 'GET', path: of(id, `/attachments/${pathPart(place)}`) }, call),

    /**
     * The newest capture that matches, at once or as it arrives. After `Timeout` seconds (30) PostriderError 408, whose
     * message names the mail that came closest.
     */
    async wait(query: CaptureFilter & { Timeout?: number }, call: CallOptions = {}): Promise<CaptureDetail> {
      for (let left = query.Timeout ?? USUAL_WAIT; ; left -= LONGEST_WAIT) {
        const Timeout = Math.min(left, LONGEST_WAIT);
        const options = { timeoutMs: Timeout * 1000 + ANSWER_MARGIN_MS, ...call };
        try {
          return await get<CaptureDetail>('/sandbox/wait', { ...query, Timeout }, options);
        } catch (error) {
          const waited = error instanceof PostriderError && error.problem === 'request-timeout';
          if (!waited || left <= LONGEST_WAIT) throw error;
        }
      }
    },

    /** Captures as they come. To continue after an interruption, pass the last `id`. */
    async *stream(
      query: CaptureFilter = {},
      options: FollowOptions = {},
    ): AsyncGenerator<{ id: string; capture: CaptureSummary }> {
      for await (const { id, data } of followed(caller, '/sandbox/stream', options, { ...query }))
        yield { id, capture: JSON.parse(data) };
    },

    inboxes: (query: PageRequest = {}, call?: CallOptions) => get<InboxList>('/sandbox/inboxes', query, call),
    delete: (id: string, call?: CallOptions) => caller.json<object>({ method: 'DELETE', path: of(id) }, call),
    /** Empties one inbox, or all of the token's. */
    clear: (query: { Inbox?: string; Domain?: string } = {}, call?: CallOptions) =>
      remove('/sandbox/messages', query, call),
    /** Sends a capture for real, to its recipient or to `To`; refused where it would only be captured again. */
    release: (id: string, to: { To?: string } = {}, call?: CallOptions) =>
      caller.json<Released>({ method: 'POST', path: of(id, '/release'), body: to }, call),

    /** Simulated faults; each applies to mail that is accepted after it was created. */
    rules: {
      /** All of them, oldest first. */
      list: async (query: { Domain?: string } = {}, call?: CallOptions): Promise<readonly SandboxRule[]> => {
        const rules: SandboxRule[] = [];
        for await (const rule of everyItem<SandboxRule>(caller, '/sandbox/rules', { ...query }, call))
          rules.push(rule);
        return rules;
      },
      add: (rule: NewSandboxRule, call?: CallOptions) =>
        caller.json<SandboxRule>({ method: 'POST', path: '/sandbox/rules', body: rule }, call),
      delete: (id: string, call?: CallOptions) =>
        caller.json<object>({ method: 'DELETE', path: `/sandbox/rules/${pathPart(id)}` }, call),
      clear: (query: { Inbox?: string; Domain?: string } = {}, call?: CallOptions) =>
        remove('/sandbox/rules', query, call),
    },
  };
}
