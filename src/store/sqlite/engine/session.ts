/**
 * What a write operation works with: the connection and what the writer keeps in memory about small, hot tables:
 * interned names, destination queues, the webhooks that take calls, who suppresses at all, which epochs have ended. All
 * changes to those tables go through the one writer, so the memory is exact; after a rollback `forget` drops it, because
 * it may name rows that never came. Where other processes write too, `othersWrote` is called before each transaction that
 * follows one of theirs.
 */
import { BoundedMap } from '../../../lib/bounded-map.ts';
import type { Lane } from '../../../model/message.ts';
import { queueLaneCode, webhookEvents } from '../../shared/codes.ts';
import type { CaptureView } from '../../topics/captures.ts';
import type { SuppressionChange } from '../../topics/suppressions.ts';
import type { Connection } from './connection.ts';

/** Bounds memory where recipients are spread over very many domains; dropped whole and read again when full. */
const MAX_CACHED = 50_000;

/** A webhook that takes calls, as far as an event needs to know. */
export interface HookTarget {
  id: number;
  events: readonly string[];
}

export interface Session {
  db: Connection;
  /** Number of a sender domain or token id, interned if it is new. */
  nameId(text: string): number;
  /** Id of a destination queue, created if it is new. */
  queueId(
    lane: Lane,
    sandbox: boolean,
    senderDomainId: number,
    recipientDomain: string,
    routeKey: string,
  ): number;
  /** Enabled webhooks of a domain, by its name id. */
  hooks(domainId: number): readonly HookTarget[];
  /** To be called by whatever changes a webhook row. */
  hooksChanged(): void;
  /** Numbers of sender domains with suppressions, and with evidence towards one; may name more, never fewer. */
  suppressing(): { entries: Set<number>; evidence: Set<number> };
  /** Whether an epoch has ended, so that nothing may be leased to it any more. One that was never begun has not. */
  hasEnded(epoch: number): boolean;
  /** To be called whenever an epoch ended. */
  epochsChanged(): void;
  /** Another process has written: what it may have changed is read again. Names and queues never go away. */
  othersWrote(): void;
  /** What the running operation captured, to be told after the commit; the batch takes it out. */
  captured: CaptureView[];
  /** What it suppressed, in the same way. */
  suppressed: SuppressionChange[];
  /** Webhook calls that the running transaction has made or owes; the batch sets it back. */
  calls: number;
  /** Octets of contents that it has removed, in the same way. */
  dropped: number;
  /** To be called after every rollback. */
  forget(): void;
}

/** A session over a connection that may write. */
export function createSession(db: Connection): Session {
  const names = new BoundedMap<string, number>(MAX_CACHED);
  const queues = new BoundedMap<string, number>(MAX_CACHED);
  const hooksByDomain = new BoundedMap<number, readonly HookTarget[]>(MAX_CACHED);
  let suppressingDomains: ReturnType<Session['suppressing']> | null = null;
  const ended = new Map<number, boolean>();

  function nameId(text: string): number {
    const cached = names.get(text);
    if (cached !== undefined) return cached;
    const row = db.get<{ id: number }>('SELECT id FROM name WHERE text = ?', text);
    const id = row?.id ?? db.insert('name', { text }).lastId;
    names.set(text, id);
    return id;
  }

  function queueId(
    lane: Lane,
    sandbox: boolean,
    senderDomainId: number,
    recipientDomain: string,
    routeKey: string,
  ): number {
    const laneNumber = queueLaneCode.of(lane, sandbox);
    const key = `${laneNumber} ${senderDomainId} ${recipientDomain} ${routeKey}`;
    const cached = queues.get(key);
    if (cached !== undefined) return cached;
    db.insert(
      'dest_queue',
      {
        lane: laneNumber,
        sender_domain: senderDomainId,
        recipient_domain: recipientDomain,
        route_key: routeKey,
      },
      'ON CONFLICT DO NOTHING',
    );
    const row = db.get<{ id: number }>(
      'SELECT id FROM dest_queue WHERE lane = ? AND sender_domain = ? AND recipient_domain = ? AND route_key = ?',
      laneNumber,
      senderDomainId,
      recipientDomain,
      routeKey,
    );
    if (row === undefined) throw new Error('A destination queue vanished in its own transaction');
    queues.set(key, row.id);
    return row.id;
  }

  function hooks(domainId: number): readonly HookTarget[] {
    const known = hooksByDomain.get(domainId);
    if (known !== undefined) return known;
    const rows = db.all<{ id: number; event: string }>(
      'SELECT id, event FROM webhook INDEXED BY webhook_domain WHERE domain_id = ? AND enabled = 1 ORDER BY id',
      domainId,
    );
    const found = rows.map((row) => ({ id: row.id, events: webhookEvents.list(row.event) }));
    hooksByDomain.set(domainId, found);
    return found;
  }

  function suppressing(): ReturnType<Session['suppressing']> {
    suppressingDomains ??= {
      entries: new Set(domainIdsIn(db, 'suppression')),
      evidence: new Set(domainIdsIn(db, 'suppression_evidence')),
    };
    return suppressingDomains;
  }

  function hasEnded(epoch: number): boolean {
    let answer = ended.get(epoch);
    if (answer === undefined) {
      answer =
        db.get<{ one: number }>(
          // One that has been forgotten had ended: a later one has been begun since.
          `SELECT 1 AS one WHERE EXISTS (SELECT 1 FROM node WHERE epoch = ?1 AND ended_at IS NOT NULL)
             OR (?1 < (SELECT max(epoch) FROM node) AND NOT EXISTS (SELECT 1 FROM node WHERE epoch = ?1))`,
          epoch,
        ) !== undefined;
      ended.set(epoch, answer);
    }
    return answer;
  }

  return {
    db,
    nameId,
    queueId,
    hooks,
    hooksChanged: () => hooksByDomain.clear(),
    suppressing,
    hasEnded,
    epochsChanged: () => ended.clear(),
    othersWrote() {
      hooksByDomain.clear();
      suppressingDomains = null;
      ended.clear();
    },
    captured: [],
    suppressed: [],
    calls: 0,
    dropped: 0,
    forget() {
      this.captured = [];
      this.suppressed = [];
      names.clear();
      queues.clear();
      hooksByDomain.clear();
      suppressingDomains = null;
      ended.clear();
    },
  };
}

/** Distinct `domain_id` of a table whose first index column it is: one step of the index each. */
export function domainIdsIn(
  db: Connection,
  table: 'suppression' | 'suppression_evidence' | 'message_metadata' | 'capture',
): number[] {
  const next = `SELECT min(domain_id) FROM ${table}`;
  return db
    .all<{ id: number }>(
      `WITH RECURSIVE step (id) AS (
         ${next} UNION ALL SELECT (${next} WHERE domain_id > step.id) FROM step WHERE step.id IS NOT NULL
       ) SELECT id FROM step WHERE id IS NOT NULL`,
    )
    .map((row) => row.id);
}

/** Number of a name that is there already, or null; for readers, who never intern. */
export function findNameId(db: Connection, text: string): number | null {
  return db.get<{ id: number }>('SELECT id FROM name WHERE text = ?', text)?.id ?? null;
}

/** Numbers of the given names that exist; undefined in = undefined out (no filter). */
export function findNameIds(db: Connection, texts: readonly string[] | undefined): number[] | undefined {
  if (texts === undefined) return undefined;
  const ids: number[] = [];
  for (const text of new Set(texts)) {
    const id = findNameId(db, text);
    if (id !== null) ids.push(id);
  }
  return ids;
}
