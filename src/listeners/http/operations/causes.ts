/**
 * Cause groups: GET /causes lists what failed or waits for one reason, with a count and an example; POST
 * /causes/{CauseID}/resend queues the recipients again after the cause was fixed. Resending works in limited portions,
 * and delivery applies its usual limits. Recipients that were suppressed, lost their content or changed since
 * (delivered, canceled, being sent) are left out and counted.
 */

import { z } from 'zod';
import { uuidv7 } from '../../../lib/ids.ts';
import { domainOfAddress } from '../../../mail/address-text.ts';
import {
  categoryFacts,
  isCategory,
  pascalCase,
} from '../../../pipeline/deliver/outcome/classifier/categories.ts';
import { LANE_MAX_AGE } from '../../../pipeline/queue/retry-schedule.ts';
import { suppressedRecipients } from '../../../policy/suppressions/suppressions.ts';
import type { CauseMember, CauseView } from '../../../store/topics/causes.ts';
import { type Answer, bounce, count, pageOf, time } from '../answer-schemas.ts';
import type { ApiParts, HttpOptions } from '../deps.ts';
import { operation, withoutUndefined } from '../operation.ts';
import { cursor, cursorText, paging } from '../paging.ts';
import { type ApiRoute, existing, isoTime, refuse } from '../route.ts';
import { createBehindCauses } from './behind-causes.ts';
import type { WaitingMail } from './traffic.ts';
import { waitingMail } from './waiting-mail.ts';

const causeItem = z
  .object({
    CauseID: z.int().min(1),
    Category: z.string().describe('As `Class` in bounce objects'),
    Scope: bounce.shape.Scope,
    Site: z
      .string()
      .describe(
        'Where it happened: the recipients’ domain, or `relay:HOST:PORT` if a relay does it to all mail',
      ),
    SenderDomain: z.string().nullable().describe('null: the fault is the path’s, all senders meet it'),
    Reply: z.string().describe('What was said, the first time'),
    Explanation: z.string().describe('What it means, whose fault it is, who can mend it'),
    Waiting: count.describe('Recipients that met it and wait for another try, counted to 10 000'),
    WaitingBehind: count.describe(
      'Recipients that wait because of it without having met it: on the path that it closed, or of the sender domain that it paused; counted over 5 000 queues',
    ),
    Failed: count.describe('Recipients that bounced or were given up, counted to 10 000'),
    FirstSeen: time,
    LastSeen: time,
    Example: z.object({ MessageID: z.string(), Recipient: z.string() }).nullable(),
  })
  .meta({ id: 'Cause' });

const resendAnswer = z
  .object({
    Queued: count,
    Opened: count.describe('Paths of theirs that were closed and are tried now'),
    LeftOut: z.object({ Suppressed: count, ContentGone: count, Moved: count }),
    More: z.boolean().describe('Call again for the rest'),
    NextCursor: z.string().nullable().describe('`After` of the next call; null = there is no rest'),
  })
  .meta({ id: 'ResendAnswer' });

const COUNT_UP_TO = 10_000;
/** Recipients that one request queues again, or examines if many are left out: about a second. */
const MAX_RESENT = 2_000;
const MAX_LOOKED_AT = 20_000;
const PORTION = 200;
const PLACE = z.object({ lastSeen: z.int(), id: z.int() });
const PAGES = paging('causes', PLACE, ({ lastSeen, id }: CauseView) => ({ lastSeen, id }));
/** The member after which resending continues. */
const MEMBER = 'cause-members';

export function causeOperations(deps: ApiParts, options: HttpOptions): readonly ApiRoute[] {
  const { store, clock } = deps;
  return [
    operation('GET /causes', {
      id: 'listCauses',
      scope: 'admin',
      summary: 'List why mail fails',
      description:
        'Causes of failures and delays that several recipients share, the latest first, a page: `{CauseID, Category, Scope, Site, SenderDomain, Reply, Explanation, Waiting, WaitingBehind, Failed, FirstSeen, LastSeen, Example}`. A cause that occurs again moves to the front',
      query: PAGES.query,
      answer: pageOf('CausesAnswer', causeItem),
      handle: async ({ query }) => {
        const { Limit, After } = query;
        const rows: CauseView[] = [];
        for (let before: { lastSeen: number; id: number } | undefined = After; rows.length <= Limit; ) {
          const part: readonly CauseView[] = await store.listCauses({
            ...withoutUndefined({ before }),
            limit: Limit + 1 - rows.length,
            countUpTo: COUNT_UP_TO,
          });
          if (part.length === 0) break;
          rows.push(...part);
          before = part.at(-1);
        }
        const behind = rows.length === 0 ? () => 0 : await behindCauses();
        return PAGES.pageOf(rows, query, (cause) => toItem(cause, behind(cause)));
      },
    }),
    operation('GET /causes/:id', {
      scope: 'admin',
      id: 'getCause',
      summary: 'Show one cause',
      description: 'One cause',
      answer: causeItem,
      handle: async ({ params }) => {
        const cause = await known(params.id);
        return toItem(cause, (await behindCauses())(cause));
      },
    }),
    operation('POST /causes/:id/resend', {
      id: 'resendCause',
      scope: 'admin',
      summary: 'Try again what failed for one cause',
      description:
        'Queues its recipients again, at most 2,000 a request, ends the pause of the sender domain that the fault caused, and opens their closed paths (`Opened`): `{Queued, Opened, LeftOut: {Suppressed, ContentGone, Moved}, More, NextCursor}`. While `NextCursor` is not null, ask again with it as `After`: it continues after those that were left out',
      query: {
        After: cursor(MEMBER, z.int().min(1)).optional().describe('`NextCursor` of the page before'),
      },
      answer: resendAnswer,
      handle: async ({ params, query }) => {
        const cause = await known(params.id);
        await endPauses(cause);
        const paths = new Set<string>();
        const sums = await resend(cause.id, query.After ?? 0, paths);
        const answer = { ...sums, Opened: await deps.traffic.tryNow.paths(paths) };
        if (answer.Queued > 0) {
          deps.eventsStored();
          deps.queue.wake();
        }
        return answer;
      },
    }),
  ];

  async function behindCauses() {
    return createBehindCauses((await waitingMail(deps)).queues, deps.traffic);
  }

  async function known(id: string): Promise<CauseView> {
    if (!/^[1-9][0-9]{0,14}$/.test(id)) throw refuse('not-found');
    return existing(await store.getCause({ id: Number(id), countUpTo: COUNT_UP_TO }));
  }

  /** A person who says that the cause is fixed does not wait for the pause that it caused. */
  async function endPauses({ category, senderDomain }: CauseView): Promise<void> {
    for (const { id, param, rule, key } of deps.traffic.overrides.list()) {
      const own = senderDomain !== '' && key.startsWith(`${senderDomain}@`);
      if (own && param === 'suspended' && rule === category) await deps.traffic.overrides.remove(id);
    }
  }

  /** `paths`: gets the names of those that are blocked for its recipients. */
  async function resend(
    id: number,
    from: number,
    paths: Set<string>,
  ): Promise<Omit<Answer<typeof resendAnswer>, 'Opened'>> {
    const left = { Suppressed: 0, ContentGone: 0, Moved: 0 };
    let queued = 0;
    let afterId = from;
    for (let seen = 0; queued < MAX_RESENT && seen < MAX_LOOKED_AT; seen += PORTION) {
      const members = await store.causeMembers({ id, afterId, limit: PORTION });
      const last = members.at(-1);
      if (last === undefined) return { Queued: queued, LeftOut: left, More: false, NextCursor: null };
      afterId = last.deliveryId;
      for (const member of members) {
        const blocked = member.sandbox ? null : deps.traffic.blockedFor(mailOf(member));
        if (blocked !== null) paths.add(blocked.path);
      }
      const done = await Promise.all([...byMessage(members).values()].map((group) => again(group)));
      for (const result of done) {
        queued += result.queued;
        left.Suppressed += result.suppressed;
        left.ContentGone += result.contentGone;
        left.Moved += result.moved;
      }
      if (members.length < PORTION) return { Queued: queued, LeftOut: left, More: false, NextCursor: null };
    }
    const more = (await store.causeMembers({ id, afterId, limit: 1 })).length > 0;
    return {
      Queued: queued,
      LeftOut: left,
      More: more,
      NextCursor: cursorText(MEMBER, more ? afterId : null),
    };
  }

  /** Members of one message. */
  async function again(members: readonly [CauseMember, ...CauseMember[]]) {
    const [{ messageSeq, domain, lane }] = members;
    const now = clock.now();
    const addresses = members.filter(({ sandbox }) => !sandbox).map(({ address }) => address);
    const stopped = await suppressedRecipients(store, {
      domain,
      addresses,
      lane,
      listUnsubscribe: false,
      now,
    });
    const meant = members.filter(({ address }) => !stopped.has(address));
    const counts = { queued: 0, suppressed: members.length - meant.length, contentGone: 0, moved: 0 };
    if (meant.length === 0) return counts;
    const result = await store.requeue({
      messageSeq,
      now,
      expiresAt: now + (options.maxAgeMs ?? LANE_MAX_AGE[lane]),
      recipients: meant.map(({ deliveryId }) => ({
        deliveryId,
        event: { id: uuidv7(clock, deps.random), kind: 'requeued', at: now, detail: null },
      })),
    });
    if (result.kind === 'content-gone') counts.contentGone = meant.length;
    else {
      counts.queued = result.count;
      counts.moved = meant.length - result.count;
    }
    return counts;
  }
}

function mailOf({ domain: senderDomain, address, lane, routeKey }: CauseMember): WaitingMail {
  return { senderDomain, recipientDomain: domainOfAddress(address), lane, routeKey };
}

function byMessage(
  members: readonly CauseMember[],
): ReadonlyMap<number, readonly [CauseMember, ...CauseMember[]]> {
  const groups = new Map<number, [CauseMember, ...CauseMember[]]>();
  for (const member of members) {
    const group = groups.get(member.messageSeq);
    if (group === undefined) groups.set(member.messageSeq, [member]);
    else group.push(member);
  }
  return groups;
}

function toItem(cause: CauseView, behind: number): Answer<typeof causeItem> {
  const facts = isCategory(cause.category) ? categoryFacts(cause.category) : null;
  return {
    CauseID: cause.id,
    Category: isCategory(cause.category) ? pascalCase(cause.category) : cause.category,
    Scope: cause.scope,
    Site: cause.site,
    SenderDomain: cause.senderDomain === '' ? null : cause.senderDomain,
    Reply: cause.reply,
    Explanation: facts === null ? '' : `${facts.means} ${facts.fix}`,
    Waiting: cause.waiting,
    WaitingBehind: behind,
    Failed: cause.failed,
    FirstSeen: isoTime(cause.firstSeen),
    LastSeen: isoTime(cause.lastSeen),
    Example:
      cause.example === null
        ? null
        : { MessageID: cause.example.messageId, Recipient: cause.example.recipient },
  };
}
