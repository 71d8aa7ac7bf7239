/**
 * How long data is kept, and the rounds that delete it: contents, messages with their events, webhook calls, captures
 * of the sandbox, and what ends by itself; by age, contents also by size. Readers find what to delete; the writer
 * deletes it in steps of a few milliseconds, with a pause of several times that after each, so that accepting and
 * sending are hardly delayed. Nothing is stored between rounds: an interrupted one starts again.
 */
import { type Clock, sleep } from '../../lib/clock.ts';
import type { Domain } from '../../model/domain.ts';
import { SESSION_IDLE_MS } from '../../model/person.ts';
import type { Store } from '../../store/store.ts';

export interface RetentionOptions {
  /** Contents, counted from acceptance; 0 = until the last recipient is final. */
  contentMs: number;
  /** Messages with recipients and events, counted from acceptance. */
  eventsMs: number;
  /** Finished webhook calls. */
  callsMs: number;
  /** Captures of the sandbox; the contents that they show are kept as long. */
  capturesMs: number;
  /** The meaning of unsubscribe links of deleted messages, counted from acceptance. */
  optOutMs: number;
  /** If contents exceed this many octets, the oldest are deleted; null = no limit. */
  contentBytes: number | null;
}

export interface Forgotten {
  contents: number;
  messages: number;
  captures: number;
  calls: number;
  events: number;
  /** Of events, by hour and day. */
  sums: number;
  /** Unsubscribe links, and readers without any. */
  optOuts: number;
  /** Of people; ended. */
  sessions: number;
  /** Entries of who changed what. */
  audit: number;
  dmarcReports: number;
  /** Tokens and SMTP credentials that had ended. */
  credentials: number;
}

export interface Retention {
  /** Deletes everything that has expired, or until `mayGoOn` returns false. */
  purge(mayGoOn: () => boolean): Promise<Forgotten>;
}

/** What is older than `before` has expired at `now`. */
interface Times {
  before: number;
  now: number;
}

type RetentionNeeds = Pick<
  Store,
  | 'getDomain'
  | 'domainsWithMail'
  | 'findExpired'
  | 'contentBytes'
  | 'findOldestContents'
  | 'purgeContents'
  | 'purgeMessages'
  | 'purgeCaptures'
  | 'purgeCalls'
  | 'purgeLooseEvents'
  | 'domainsWithSums'
  | 'purgeSums'
  | 'purgeOptOuts'
  | 'purgeLeftovers'
  | 'purgeMtaSts'
  | 'purgeSessions'
  | 'purgeAudit'
  | 'purgeDmarcReports'
  | 'purgeTokens'
  | 'purgeSmtpCredentials'
>;

const DAY_MS = 86_400_000;
/** How long it is kept who changed what: more than a year, so that yearly changes can be compared. */
const AUDIT_KEPT_MS = 400 * DAY_MS;
const DMARC_REPORTS_KEPT_MS = 90 * DAY_MS;
/** How long a token or an SMTP credential that has ended is shown. */
const CREDENTIALS_KEPT_MS = 90 * DAY_MS;
/** Rows read in one query. */
const PAGE = 500;
/** Contents, or small rows, that one step of the writer deletes; measured, see docs/howto/retention.md. */
const CONTENTS_PER_STEP = 16;
const ROWS_PER_STEP = 64;
const BYTES_PER_STEP = 16_777_216;
/** After a step, the writer is left alone for this many times its duration, and at least this long. */
const REST = 4;
const LEAST_REST_MS = 2;

/** How long contents and events of a domain are kept, in ms: its own setting, otherwise the server's. */
export function keptFor(
  settings: Domain['settings'] | undefined,
  options: Pick<RetentionOptions, 'contentMs' | 'eventsMs'>,
): { contentMs: number; eventsMs: number } {
  const { contentDays, eventDays } = settings?.retention ?? { contentDays: null, eventDays: null };
  return {
    contentMs: contentDays === null ? options.contentMs : contentDays * DAY_MS,
    eventsMs: eventDays === null ? options.eventsMs : eventDays * DAY_MS,
  };
}

export function createRetention(
  { store, clock }: { store: RetentionNeeds; clock: Clock },
  options: RetentionOptions,
): Retention {
  return {
    async purge(mayGoOn) {
      const now = clock.now();
      const forgotten: Forgotten = {
        contents: 0,
        messages: 0,
        captures: 0,
        calls: 0,
        events: 0,
        sums: 0,
        optOuts: 0,
        sessions: 0,
        audit: 0,
        dmarcReports: 0,
        credentials: 0,
      };
      await leftovers(mayGoOn);
      await whole(mayGoOn, (limit) => store.purgeMtaSts({ now, limit }));
      forgotten.calls = await calls(now, mayGoOn);
      forgotten.captures = await whole(mayGoOn, (limit) =>
        store.purgeCaptures({ before: now - options.capturesMs, now, limit }),
      );
      for (const domain of await store.domainsWithMail()) {
        if (!mayGoOn()) return forgotten;
        const kept = await keptOf(domain);
        forgotten.messages += await messages(domain, { now, before: now - kept.eventsMs }, mayGoOn);
        forgotten.contents += await contents(domain, { now, before: now - kept.contentMs }, mayGoOn);
      }
      forgotten.events = await whole(mayGoOn, (limit) =>
        store.purgeLooseEvents({ before: now - options.eventsMs, limit }),
      );
      for (const domain of await store.domainsWithSums()) {
        if (!mayGoOn()) return forgotten;
        const before = now - (await keptOf(domain)).eventsMs;
        forgotten.sums += await whole(mayGoOn, (limit) => store.purgeSums({ domain, before, limit }));
      }
      forgotten.optOuts = await whole(mayGoOn, (limit) =>
        store.purgeOptOuts({ before: now - options.optOutMs, limit }),
      );
      forgotten.sessions = await whole(mayGoOn, (limit) =>
        store.purgeSessions({ now, unusedSince: now - SESSION_IDLE_MS, limit }),
      );
      forgotten.audit = await whole(mayGoOn, (limit) =>
        store.purgeAudit({ before: now - AUDIT_KEPT_MS, limit }),
      );
      forgotten.dmarcReports = await whole(mayGoOn, (limit) =>
        store.purgeDmarcReports({ before: now - DMARC_REPORTS_KEPT_MS, limit }),
      );
      forgotten.credentials = await credentials(now - CREDENTIALS_KEPT_MS, mayGoOn);
      forgotten.contents += await bySize(mayGoOn);
      return forgotten;
    },
  };

  async function keptOf(domain: string) {
    return keptFor((await store.getDomain({ name: domain }))?.settings, options);
  }

  async function contents(domain: string, times: Times, mayGoOn: () => boolean): Promise<number> {
    let removed = 0;
    await eachPage(
      (afterSeq) => store.findExpired({ what: 'contents', domain, ...times, afterSeq, limit: PAGE }),
      async (seqs) => {
        removed += await removeContents(seqs, mayGoOn);
      },
      mayGoOn,
    );
    return removed;
  }

  async function messages(domain: string, times: Times, mayGoOn: () => boolean): Promise<number> {
    let removed = 0;
    await eachPage(
      (afterSeq) => store.findExpired({ what: 'messages', domain, ...times, afterSeq, limit: PAGE }),
      async (seqs) => {
        for (let at = 0; at < seqs.length && mayGoOn(); ) {
          const step = await paced(() =>
            store.purgeMessages({ seqs: seqs.slice(at, at + CONTENTS_PER_STEP), maxRows: ROWS_PER_STEP }),
          );
          at += step.done;
          removed += step.messages;
        }
      },
      mayGoOn,
    );
    return removed;
  }

  async function calls(now: number, mayGoOn: () => boolean): Promise<number> {
    const before = now - options.callsMs;
    let removed = 0;
    let afterId: number | null = 0;
    while (afterId !== null && mayGoOn()) {
      const from: number = afterId;
      const step = await paced(() => store.purgeCalls({ before, now, afterId: from, limit: ROWS_PER_STEP }));
      removed += step.removed;
      afterId = step.nextId;
    }
    return removed;
  }

  async function credentials(before: number, mayGoOn: () => boolean): Promise<number> {
    let removed = await whole(mayGoOn, (limit) => store.purgeSmtpCredentials({ before, limit }));
    // The newest first: a token stays while one that it made is there.
    let from: { beforeId?: string } | null = {};
    while (from !== null && mayGoOn()) {
      const page: { beforeId?: string } = from;
      const step = await paced(() => store.purgeTokens({ before, ...page, look: ROWS_PER_STEP }));
      removed += step.removed;
      from = step.nextId === null ? null : { beforeId: step.nextId };
    }
    return removed;
  }

  /** The oldest are deleted first, whoever they belong to; contents of messages that are not final stay. */
  async function bySize(mayGoOn: () => boolean): Promise<number> {
    if (options.contentBytes === null) return 0;
    let excess = (await store.contentBytes()) - options.contentBytes;
    let removed = 0;
    let afterSeq: number | null = 0;
    while (excess > 0 && afterSeq !== null && mayGoOn()) {
      const page: Awaited<ReturnType<typeof store.findOldestContents>> = await store.findOldestContents({
        afterSeq,
        atLeastBytes: excess,
        limit: PAGE,
      });
      removed += await removeContents(page.seqs, mayGoOn);
      excess -= page.bytes;
      afterSeq = page.nextSeq;
    }
    return removed;
  }

  async function removeContents(seqs: readonly number[], mayGoOn: () => boolean): Promise<number> {
    let removed = 0;
    for (let at = 0; at < seqs.length && mayGoOn(); ) {
      const step = await paced(() =>
        store.purgeContents({ seqs: seqs.slice(at, at + CONTENTS_PER_STEP), maxBytes: BYTES_PER_STEP }),
      );
      at += step.done;
      removed += step.removed;
    }
    return removed;
  }

  /** Remains of webhooks, templates and sandbox rules that were deleted. */
  async function leftovers(mayGoOn: () => boolean): Promise<void> {
    const step = async () => ((await store.purgeLeftovers({ limit: ROWS_PER_STEP })) ? 1 : 0);
    while (mayGoOn() && (await paced(step)) > 0);
  }

  /** Steps of a fixed size until one finds nothing. */
  async function whole(mayGoOn: () => boolean, step: (limit: number) => Promise<number>): Promise<number> {
    let removed = 0;
    while (mayGoOn()) {
      const count = await paced(() => step(ROWS_PER_STEP));
      removed += count;
      if (count === 0) break;
    }
    return removed;
  }

  async function eachPage(
    find: (afterSeq: number) => Promise<{ seqs: readonly number[]; nextSeq: number | null }>,
    work: (seqs: readonly number[]) => Promise<void>,
    mayGoOn: () => boolean,
  ): Promise<void> {
    let afterSeq: number | null = 0;
    while (afterSeq !== null && mayGoOn()) {
      const page: Awaited<ReturnType<typeof find>> = await find(afterSeq);
      await work(page.seqs);
      afterSeq = page.nextSeq;
    }
  }

  /** One step, and the pause after it unless it found nothing. */
  async function paced<Result extends number | { done: number; removed?: never } | { removed: number }>(
    step: () => Promise<Result>,
  ): Promise<Result> {
    const from = clock.monotonicMs();
    const result = await step();
    const found = typeof result === 'number' ? result : (result.removed ?? 1);
    if (found > 0) await sleep(clock, Math.max(LEAST_REST_MS, REST * (clock.monotonicMs() - from)));
    return result;
  }
}
