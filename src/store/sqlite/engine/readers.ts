/**
 * The reads of a store. One reader does everything until a read meets a running search; from then on a second one does all
 * but the searches. A thread needs about 15 MiB, and a server with little to do never needs the second one. Sender domains
 * take turns at searches. Where many reads in a row fail because the file or its disk is bad, `unreadable` says so for a
 * minute.
 */
import { createAskerLine } from '../../../lib/asker-line.ts';
import type { Clock } from '../../../lib/clock.ts';
import { askerOf } from '../../shared/asker.ts';
import type { ParamsOf, ResultOf } from '../../shared/operation.ts';
import { KeyTaken, type StoreLog, StoreUnavailable } from '../../store.ts';
import { READS, type ReadName } from '../operations.ts';
import type { Answer, ReadCall, ReaderReplies, ReaderReply, ReaderRequest } from './protocol.ts';
import { createReadGroups } from './read-groups.ts';
import type { Thread } from './thread.ts';

/** Steps of searches that the reader has: one is made while the next waits in its port. */
const SEARCHES_AT_ONCE = 2;
/** How long after reads that failed, because the file or its disk is bad, nothing is accepted or sent. */
const UNREADABLE_MS = 60_000;
/** So many in a row: one bad page must not stop all other mail. */
const UNREADABLE_READS = 20;

export interface Readers {
  read<Name extends ReadName>(name: Name, params: ParamsOf<Name>): Promise<ResultOf<Name>>;
  /** Why nothing can be read, or null. */
  unreadable(): string | null;
  close(): Promise<void>;
}

/** The first one starts at once; if it fails, the first read reports it. */
export function createReaders(deps: {
  clock: Clock;
  log: StoreLog;
  thread(): Thread<ReaderRequest, ReaderReplies>;
  /** A read met damaged pages. */
  onDamage(reason: string): void;
}): Readers {
  const { clock, log } = deps;
  const searcher = deps.thread();
  const reader = deps.thread();
  const searches = createReadGroups(searcher);
  const quick = createReadGroups(reader);
  /** Of the steps of searches. */
  const searchLine = createAskerLine(SEARCHES_AT_ONCE);
  let searching = 0;
  let apart = false;
  /** Reads that failed because of the file or its disk, since the last one that did not. */
  let failedReads = 0;
  let trouble: { reason: string; atMs: number } | null = null;
  searcher.start().catch(() => {});

  return {
    read(name, params) {
      const { promise, resolve, reject } = Promise.withResolvers<ResultOf<typeof name>>();
      const call = { name, params } as ReadCall;
      const { search = false } = READS[name].options;
      if (search) {
        searching += 1;
        const ended = (): void => {
          searching -= 1;
        };
        promise.then(ended, ended);
      } else apart ||= searching > 0;
      const by = apart && !search ? quick : searches;
      const inTurn = (ask: () => Promise<ReaderReply>) => (search ? searchLine(askerOf(params), ask) : ask());
      const answered = (reply: ReaderReply): void => {
        if (reply.kind === 'more') inTurn(() => by.goOn(reply.read)).then(answered, reject);
        else {
          note(reply);
          settleWith(reply, resolve, reject);
        }
      };
      inTurn(() => by.read(call, search)).then(answered, reject);
      return promise;
    },
    unreadable,
    async close() {
      await Promise.all([reader.close({ kind: 'close' }), searcher.close({ kind: 'close' })]);
    },
  };

  function note(reply: Exclude<ReaderReply, { kind: 'more' }>): void {
    if (reply.kind !== 'unavailable' || !reply.lasting) {
      failedReads = 0;
      return;
    }
    if (reply.damaged) deps.onDamage(reply.reason);
    failedReads += 1;
    if (failedReads === 1) log('error', 'a part of the store cannot be read', { reason: reply.reason });
    if (failedReads < UNREADABLE_READS) return;
    if (unreadable() === null) log('error', 'the store cannot be read', { reason: reply.reason });
    trouble = { reason: reply.reason, atMs: clock.monotonicMs() };
  }

  function unreadable(): string | null {
    return trouble === null || clock.monotonicMs() - trouble.atMs > UNREADABLE_MS ? null : trouble.reason;
  }
}

/** Settles the promise of a call with its answer. */
export function settleWith<Result>(
  answer: Answer,
  resolve: (value: Result) => void,
  reject: (error: unknown) => void,
): void {
  if (answer.kind === 'value') resolve(answer.value as Result);
  else if (answer.kind === 'held') reject(new KeyTaken(answer.held));
  else if (answer.kind === 'unavailable')
    reject(new StoreUnavailable(`The store cannot work: ${answer.reason}`));
  else reject(answer.error);
}
