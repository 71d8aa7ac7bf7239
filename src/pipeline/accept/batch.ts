/**
 * Many messages in one request (POST /email/batch). Each is checked separately and has its own result; those that are
 * accepted are one commit, with the idempotency key of the whole batch. A failure that concerns the whole batch (the
 * store, a shutdown) is thrown, and nothing is stored.
 */
import type { Clock } from '../../lib/clock.ts';
import { AppError, type Problem } from '../../lib/errors.ts';
import { createTurns } from '../../lib/turns.ts';
import type { MessageId } from '../../model/message.ts';
import type { Submission } from '../../model/submission.ts';
import type { Store } from '../../store/store.ts';
import type { Composed } from '../compose/compose.ts';
import { type Committer, chargedRecipients, type Draft, type Taking } from './commit-messages.ts';
import { quotaExceeded } from './quota.ts';

/** A message of a batch as its listener read it, or its problems. */
export type BatchItem =
  | {
      kind: 'message';
      submission: Submission;
      prepared?: { messageId: MessageId; dateMs: number; composed: Composed };
    }
  | { kind: 'refused'; problems: readonly [Problem, ...Problem[]] };

export type ItemOutcome =
  | { kind: 'accepted'; messageId: MessageId }
  | { kind: 'refused'; problems: readonly [Problem, ...Problem[]] };

type ReadItem = Extract<BatchItem, { kind: 'message' }>;

interface Batch {
  caller: Taking['caller'];
  idempotency: Taking['idempotency'];
  items: readonly BatchItem[];
  answer(outcomes: readonly ItemOutcome[]): string;
}

/** `draft`: everything that acceptance does with one message before it is stored. */
export async function acceptDrafts(
  deps: { committer: Committer; store: Store; clock: Clock },
  { caller, idempotency, items, answer }: Batch,
  draft: (item: ReadItem) => Promise<Draft>,
): Promise<{ kind: 'answered' | 'replay'; status: number; body: string }> {
  const outcomes: ItemOutcome[] = [];
  const drafts: { index: number; draft: Draft }[] = [];
  const turn = createTurns(deps.clock);
  for (const [index, item] of items.entries()) {
    if (item.kind === 'refused') {
      outcomes.push(item);
      continue;
    }
    await turn();
    try {
      const ready = await draft(item);
      drafts.push({ index, draft: ready });
      outcomes.push({ kind: 'accepted', messageId: ready.message.id });
    } catch (error) {
      outcomes.push({ kind: 'refused', problems: problemsOf(error) });
    }
  }
  for (;;) {
    const body = answer(outcomes);
    const taken = drafts.filter(({ index }) => outcomes[index]?.kind === 'accepted');
    if (taken.length === 0 && idempotency === null) return { kind: 'answered', status: 200, body };
    const result = await deps.committer.take(
      { caller, idempotency, body },
      taken.map((each) => each.draft),
    );
    if (result.kind === 'replay') return result;
    if (result.kind === 'committed') return { kind: 'answered', status: 200, body };
    // The first messages that fit are accepted. Each round refuses at least one message, so this ends.
    let { left } = result;
    for (const { index, draft: each } of taken) {
      const { message, quota } = each;
      if (message.domain !== result.domain || quota === null) continue;
      const count = chargedRecipients(message);
      if (count <= left) left -= count;
      else outcomes[index] = { kind: 'refused', problems: quotaExceeded(result, message).problems };
    }
  }
}

/** The problems of one message; other errors concern the whole batch. */
function problemsOf(error: unknown): readonly [Problem, ...Problem[]] {
  if (error instanceof AppError && error.status < 500) return error.problems;
  throw error;
}
