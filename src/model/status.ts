/**
 * The names of states of mail: what the API answers and filters by, what the commands print and what
 * docs/reference/statuses.md lists. A recipient's status follows from its stored row; a message's from those of its
 * recipients, by the first rule of MESSAGE_STATUSES that matches. Nothing here is stored.
 */
import type { DeliveryState, RouteKind } from './delivery.ts';
import { DEFERRED, isHeldReason, SCHEDULED } from './wait-reason.ts';

/** `Status` of a recipient → what it means. */
export const RECIPIENT_STATUSES = {
  Scheduled: 'waits for its scheduled time',
  Queued: 'waits for its turn, or for its path to open; no attempt to send it counts yet',
  Held: 'waits for a reason on this server. `WaitReason` begins with `held:` for a hold, with `held by domain:` where the sender domain is not verified or cannot sign',
  Sending: 'claimed for delivery, or being sent now',
  Deferred: 'could not be delivered yet and is tried again by itself',
  Delivered:
    'the next server took responsibility; with `Route` `sandbox`: the sandbox kept it and nothing left',
  Bounced: 'refused for good by the receiving server, at once or by a later report',
  Failed: 'given up: its maximum age was reached, or it could not be sent',
  Rejected: 'refused here by a rule about its contents',
  Suppressed: 'not sent on purpose: the address is on the suppression list',
  Canceled: 'stopped before it was sent',
} as const;

/** The word clients see for a recipient. */
export type RecipientStatus = keyof typeof RECIPIENT_STATUSES;

/** Statuses in lists: those of recipients, but captured mail and delivered mail have different names. */
export const LIST_WORDS = {
  ...RECIPIENT_STATUSES,
  Delivered: 'the next server took responsibility',
  Captured:
    'captured by the sandbox: a copy is kept, nothing was sent. `Status` of the recipient is Delivered',
} as const;

export type ListWord = keyof typeof LIST_WORDS;

type Words = readonly RecipientStatus[];
const every = (word: RecipientStatus) => (words: Words) => words.every((one) => one === word);
const some =
  (...wanted: Words) =>
  (words: Words) =>
    wanted.some((word) => words.includes(word));

/** `Status` of a message → when it applies. The first that matches. */
export const MESSAGE_STATUSES = {
  Scheduled: { when: 'every recipient is Scheduled', fits: every('Scheduled') },
  Sending: { when: 'at least one is Sending', fits: some('Sending') },
  Queued: {
    when: 'at least one still waits: Queued, Held, Deferred or Scheduled',
    fits: some('Queued', 'Held', 'Deferred', 'Scheduled'),
  },
  Canceled: { when: 'every recipient is Canceled', fits: every('Canceled') },
  Delivered: { when: 'every recipient is Delivered', fits: every('Delivered') },
  PartiallyDelivered: {
    when: 'at least one is Delivered, and others never will be',
    fits: some('Delivered'),
  },
  Failed: { when: 'nobody got it: Bounced, Failed, Rejected, Suppressed or Canceled', fits: () => true },
} as const satisfies Record<string, { when: string; fits: (words: Words) => boolean }>;

/** The word clients see for a whole message. */
export type MessageStatus = keyof typeof MESSAGE_STATUSES;

/** What a list of messages is filtered by: every status that it shows. */
export type StatusWord = ListWord | MessageStatus;

/** The names in a table, in its order. */
export function wordsOf<Word extends string>(table: Readonly<Record<Word, unknown>>): [Word, ...Word[]] {
  return Object.keys(table) as [Word, ...Word[]];
}

/** In the order of a message's life. */
export const STATUS_WORDS: readonly [StatusWord, ...StatusWord[]] = wordsOf<StatusWord>({
  ...LIST_WORDS,
  ...MESSAGE_STATUSES,
});

const OF_STATE: Readonly<Record<Exclude<DeliveryState, 'queued'>, RecipientStatus>> = {
  sending: 'Sending',
  delivered: 'Delivered',
  bounced: 'Bounced',
  failed: 'Failed',
  suppressed: 'Suppressed',
  canceled: 'Canceled',
  rejected: 'Rejected',
};

/** The parts of a recipient's row that decide its status. */
export interface StatusFacts {
  state: DeliveryState;
  dueAt: number;
  attempts: number;
  waitReason: string | null;
  route: RouteKind | null;
}

/** Status of one recipient from what is stored. */
export function recipientStatus(row: StatusFacts, now: number): RecipientStatus {
  if (row.state !== 'queued') return OF_STATE[row.state];
  if (isHeldReason(row.waitReason)) return 'Held';
  if (row.waitReason === SCHEDULED && row.dueAt > now) return 'Scheduled';
  return row.attempts > 0 || row.waitReason === DEFERRED ? 'Deferred' : 'Queued';
}

/** The status of one recipient in lists. */
export function listWord({ Status, Route }: { Status: RecipientStatus; Route: RouteKind | null }): ListWord {
  return Status === 'Delivered' && Route === 'sandbox' ? 'Captured' : Status;
}

/** Status of a message: the first rule that matches. */
export function messageStatus(recipients: Words): MessageStatus {
  return wordsOf(MESSAGE_STATUSES).find((word) => MESSAGE_STATUSES[word].fits(recipients)) ?? 'Failed';
}

/** How many recipients have each status, in the order of the table; zeros are left out. */
export function countWords(words: readonly ListWord[]): Partial<Record<ListWord, number>> {
  const counted = wordsOf(LIST_WORDS).map(
    (word) => [word, words.filter((one) => one === word).length] as const,
  );
  return Object.fromEntries(counted.filter(([, count]) => count > 0));
}

/** The counts as a line: `Held`, or `Delivered 2, Bounced 1` if they differ. */
export function wordsText(counts: Partial<Record<ListWord, number>>): string {
  const entries = Object.entries(counts);
  return entries.length === 1 ? (entries[0]?.[0] ?? '') : entries.map((pair) => pair.join(' ')).join(', ');
}
