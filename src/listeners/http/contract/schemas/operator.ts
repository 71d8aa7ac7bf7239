/** Schemas of the answers for operators: queue, causes, warm-up, configuration, health. */
import { z } from 'zod';
import type {
  ConfigAnswer,
  ConfigItem,
  HealthAnswer,
  RefusalItem,
  RefusalsAnswer,
} from '../answers/operator.ts';
import type { CauseItem, CausesAnswer, QueueAnswer, QueueItem, ResendAnswer } from '../answers/queue.ts';
import type { NodeItem, NodesAnswer, WarmupAnswer, WarmupItem } from '../answers/traffic.ts';
import { priority } from './email.ts';
import { bounce } from './events.ts';
import { exactly } from './exactly.ts';
import { count, pageOf, time } from './shared.ts';

export const reasons = z.array(z.object({ Reason: z.string(), Count: count }));

const queueItem = exactly<QueueItem>()(
  z
    .object({
      Site: z.string().describe('The recipients’ domain'),
      SenderDomain: z.string(),
      Priority: priority,
      Tags: z.array(z.string()).describe('Of its messages’ tags, those that routes name'),
      Route: z
        .string()
        .describe('Where it goes by the configuration in force, e.g. `routes[1] smtp://mail.example.net:25`'),
      Waiting: count.describe('At most 1000 are looked at'),
      Complete: z.boolean().describe('false: there are more than were looked at'),
      Due: count.describe('Of them due already'),
      OldestAt: time,
      NextDueAt: time,
      Ages: z
        .object({ Under1m: count, Under10m: count, Under1h: count, Under1d: count, Older: count })
        .describe('By the age of their message'),
      Reasons: reasons.describe('At most five, the most frequent first; empty = it waits for its turn'),
    })
    .meta({ id: 'Queue' }),
);

export const queueAnswer = exactly<QueueAnswer>()(
  z
    .object({
      Waiting: count.nullable().describe('null for a token of some domains; the same for the next three'),
      Sending: count.nullable(),
      PendingCalls: count.nullable(),
      OldestDueAt: time.nullable(),
      Queues: z.array(queueItem).describe('Earliest due first'),
      More: z.boolean(),
    })
    .meta({ id: 'QueueAnswer' }),
);

export const causeItem = exactly<CauseItem>()(
  z
    .object({
      CauseID: z.int().min(1),
      Category: z.string().describe('As `Class` in bounce objects'),
      Scope: bounce.shape.Scope,
      Site: z.string().describe('Where it happened'),
      SenderDomain: z.string().nullable().describe('null: the fault is the path’s, all senders meet it'),
      Reply: z.string().describe('What was said, the first time'),
      Explanation: z.string().describe('What it means, whose fault it is, who can mend it'),
      Waiting: count.describe('Recipients that wait for another try, counted to 10 000'),
      Failed: count.describe('Recipients that bounced or were given up, counted to 10 000'),
      FirstSeen: time,
      LastSeen: time,
      Example: z.object({ MessageID: z.string(), Recipient: z.string() }).nullable(),
    })
    .meta({ id: 'Cause' }),
);

export const causesAnswer = exactly<CausesAnswer>()(pageOf('CausesAnswer', causeItem));

export const resendAnswer = exactly<ResendAnswer>()(
  z
    .object({
      Queued: count,
      Opened: count.describe('Paths of theirs that were closed and are tried now'),
      LeftOut: z.object({ Suppressed: count, ContentGone: count, Moved: count }),
      More: z.boolean().describe('Call again for the rest'),
      NextCursor: z.string().nullable().describe('`After` of the next call; null = there is no rest'),
    })
    .meta({ id: 'ResendAnswer' }),
);

const warmupItem = exactly<WarmupItem>()(
  z
    .object({
      Source: z.string(),
      Provider: z.string(),
      Budget: count.nullable().describe('Messages within any 24 hours; null = warm, no budget'),
      Used: count.describe('Within the last 24 hours'),
      DeferredToday: count,
      BlockedToday: count,
      LastUsedAt: time.nullable(),
    })
    .meta({ id: 'Warmup' }),
);

export const warmupAnswer = exactly<WarmupAnswer>()(pageOf('WarmupAnswer', warmupItem));

const refusalItem = exactly<RefusalItem>()(
  z
    .object({
      RefusalID: z.string(),
      Time: time.describe('The last time'),
      Since: time.describe('The first time'),
      Times: z.int().min(1).describe('The same refusal so often in a row'),
      Via: z.enum(['HTTP', 'SMTP']),
      Action: z.string().describe('`POST /email`, or the command of SMTP: AUTH, MAIL, RCPT, DATA'),
      Status: z.int().describe('Of HTTP, or the code of the SMTP reply'),
      Code: z.int().nullable().describe('As in `Errors`; null for a reply of SMTP itself'),
      Name: z.string().nullable(),
      Message: z.string().describe('What was answered, at most 300 characters'),
      Domain: z.string().nullable().describe('Sender domain it was about, where that is known'),
      TokenID: z.string().nullable().describe('Of the token or SMTP credential; null = nobody was logged in'),
      TokenName: z.string().nullable(),
      Peer: z.string().describe('Address it came from'),
    })
    .meta({ id: 'Refusal' }),
);

export const refusalsAnswer = exactly<RefusalsAnswer>()(pageOf('RefusalsAnswer', refusalItem));

const nodeItem = exactly<NodeItem>()(
  z
    .object({
      Node: z.string().describe('Stays the same over restarts'),
      Epoch: count.describe('Another one with every start'),
      Self: z.boolean().describe('The one that answers'),
      Status: z
        .enum(['Alive', 'Silent', 'Ended'])
        .describe('Silent: it has not said for a while that it lives, and is about to be held for dead'),
      Host: z.string(),
      Pid: count,
      Roles: z.array(z.string()),
      Sources: z
        .array(z.string())
        .describe('Ids of the sources it sends from; empty = the address of the machine'),
      StartedAt: time,
      HeartbeatAt: time.describe('By its own clock; a process that is alone with its database says it once'),
      EndedAt: time.nullable(),
      Sending: count.describe('Recipients under its lease'),
      Leases: z
        .array(z.string())
        .describe('What it alone does: `send SOURCE>SITE` for shared sources, `upkeep` for the instance'),
    })
    .meta({ id: 'Node' }),
);

export const nodesAnswer = exactly<NodesAnswer>()(pageOf('NodesAnswer', nodeItem));

const configItem = exactly<ConfigItem>()(
  z
    .object({
      Key: z.string(),
      Value: z.string().nullable().describe('As it may be shown; null = not set'),
      Source: z.enum(['flag', 'environment', 'file', 'default']),
      Default: z.string().nullable(),
      Meaning: z.string(),
    })
    .meta({ id: 'ConfigItem' }),
);

export const configAnswer = exactly<ConfigAnswer>()(
  z
    .object({
      Mode: z.enum(['dev', 'serve']).describe('How the server runs'),
      Items: z.array(configItem),
    })
    .meta({ id: 'ConfigAnswer' }),
);

export const healthAnswer = exactly<HealthAnswer>()(
  z
    .object({
      Status: z.enum(['ok', 'unavailable']),
      Checks: z.array(z.object({ Name: z.string(), Ok: z.boolean(), Detail: z.string() })),
    })
    .meta({ id: 'Health' }),
);
