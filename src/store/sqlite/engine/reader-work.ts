/**
 * The work of a reader, in a thread or not: a read-only connection. Each read starts its own snapshot, so it sees every
 * write that resolved before. A read in steps is answered with `more` until it is complete; the caller asks again, so
 * that other requests are answered in between. Each step has its own snapshot.
 */

import type { ParamsOf, ResultOf } from '../../shared/operation.ts';
import { READS, type ReadName } from '../operations.ts';
import { type Connection, openConnection } from './connection.ts';
import type { Steps } from './operation.ts';
import type { ReaderData, ReaderReplies, ReaderReply, ReaderRequest } from './protocol.ts';
import { failedAnswer } from './sqlite-errors.ts';
import type { Work } from './writer-work.ts';

export type ReaderAsk = Exclude<ReaderRequest, { kind: 'close' }>;
type Result = ResultOf<ReadName>;

/** Contents that are answered together: the caller's thread copies them at once. */
const MOST_BYTES_TOGETHER = 1024 * 1024;

/**
 * Opens nothing yet: there may be no database before the writer works. A given connection is used as it is and stays
 * open.
 */
export function openReader(data: ReaderData, given?: Connection): Work<ReaderAsk, ReaderReplies> {
  let opened: Connection | null = given ?? null;

  function connection(): Connection {
    if (opened === null) {
      opened = openConnection(data.path, { readOnly: true, busyMs: 2000 });
      opened.exec('PRAGMA cache_size = -4096; PRAGMA temp_store = MEMORY;');
    }
    return opened;
  }

  const underWay = new Map<number, Steps<Result>>();
  let reads = 0;

  function answer(request: ReaderAsk): ReaderReplies {
    if (request.kind === 'go-on') return [one(() => step(request.read, underWay.get(request.read)))];
    const replies: ReaderReply[] = [];
    let bytes = 0;
    for (const { name, params } of request.calls) {
      if (bytes >= MOST_BYTES_TOGETHER) break;
      const reply = one((db) => begin(apply(db, name, params)));
      replies.push(reply);
      if (reply.kind === 'value' && reply.value instanceof Uint8Array) bytes += reply.value.length;
    }
    return replies;
  }

  /** One transaction per read: operations of several statements see one snapshot. */
  function one(work: (db: Connection) => ReaderReply): ReaderReply {
    try {
      const db = connection();
      db.exec('BEGIN');
      const found = work(db);
      db.exec('COMMIT');
      return found;
    } catch (error) {
      if (opened?.inTransaction() === true) opened.exec('ROLLBACK');
      return failedAnswer(error);
    }
  }

  function begin(result: Result | Steps<Result>): ReaderReply {
    if (!isSteps(result)) return { kind: 'value', value: result };
    reads += 1;
    return step(reads, result);
  }

  function step(read: number, steps: Steps<Result> | undefined): ReaderReply {
    underWay.delete(read);
    if (steps === undefined)
      return { kind: 'unavailable', reason: 'the reader was started anew', lasting: false, damaged: false };
    const { done, value } = steps.next();
    if (done === true) return { kind: 'value', value };
    underWay.set(read, steps);
    return { kind: 'more', read };
  }

  return { answer, close };

  function close(): void {
    if (given === undefined) opened?.close();
  }
}

function apply<Name extends ReadName>(
  from: Connection,
  name: Name,
  params: ParamsOf<Name>,
): ResultOf<Name> | Steps<ResultOf<Name>> {
  return READS[name](from, params);
}

function isSteps(result: Result | Steps<Result>): result is Steps<Result> {
  return (
    typeof result === 'object' && result !== null && 'next' in result && typeof result.next === 'function'
  );
}
