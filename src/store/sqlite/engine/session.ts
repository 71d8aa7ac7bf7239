/**
 * What a write operation works with: the connection and the writer's caches of small tables: interned names,
 * destination queues, enabled webhooks, domains with suppressions, ended epochs. All changes to those tables go through
 * this writer, so the caches are exact; after a rollback `forget` drops them, because they may contain rows that were
 * never stored. If other processes write too, `othersWrote` is called before each transaction that follows one of
 * theirs.
 */
import { BoundedMap } from '../../../lib/bounded-map.ts';
import type { Lane } from '../../../model/message.ts';
import { queueLaneCode, uuidBytes, webhookEvents } from '../../shared/codes.ts';
import type { CaptureView } from '../../topics/captures.ts';
import type { SuppressionChange } from '../../topics/suppressions.ts';
import type { Connection } from './connection.ts';

/** Limits memory if there are very many recipient domains; when full, the cache is dropped and read again. */
const MAX_CACHED = 50_000;

/** An enabled webhook, as far as an event needs it. */
export interface HookTarget {
  id: number;
  events: readonly string[];
}

export interface Session {
  db: Connection;
  /** Number of a sender domain or token id, created if new. */
  nameId(text: string): number;
  /** Id of a destination queue, created if new. */
  queueId(
    lane: Lane,
    sandbox: boolean,
    senderDomainId: number,
    recipientDomain: string,
    routeKey: string,
  ): number;
  /** Enabled webhooks of a domain, by its name id. */
  hooks(domainId: number): readonly HookTarget[];
  /** To be called after a webhook row changed. */
  hooksChanged(): void;
  /**
   * Numbers of sender domains with suppressions, and with evidence towards one; may contain too many, never too few.
   */
  suppressing(): { entries: Set<number>; evidence: Set<number> };
  /** Whether an epoch has ended, so that nothing may be leased to it. An epoch that never began has not. */
  hasEnded(epoch: number): boolean;
  /** To be called whenever an epoch ended. */
  epochsChanged(): void;
  /** Another process has written: what it may have changed is read again. Names and queues are never removed. */
  othersWrote(): void;
  /** Captures of the running operation, reported after the commit; the batch takes them. */
  captured: CaptureView[];
  /** Its suppressions, in the same way. */
  suppressed: SuppressionChange[];
  /** Webhook calls that the running transaction has created or recorded, by domain; the batch clears it. */
  calls: Map<number, number>;
  /** Octets of contents that it has deleted, in the same way. */
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
          // A forgotten epoch had ended, because a later one has begun since.
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
    calls: new Map(),
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
  table: 'suppression' | 'suppression_evidence' | 'message_metadata' | 'capture' | 'event_sum',
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

/** Number of an existing name, or null; for readers, which never create one. */
export function findNameId(db: Connection, text: string): number | null {
  return db.get<{ id: number }>('SELECT id FROM name WHERE text = ?', text)?.id ?? null;
}

/** Numbers of those names that exist; undefined in = undefined out (no filter). */
export function findNameIds(db: Connection, texts: readonly string[] | undefined): number[] | undefined {
  if (texts === undefined) return undefined;
  const ids: number[] = [];
  for (const text of new Set(texts)) {
    const id = findNameId(db, text);
    if (id !== null) ids.push(id);
  }
  return ids;
}

/** The stored form of an id given by a client, or null if it is invalid. */
export function idBytes(id: string): Uint8Array | null {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id) ? uuidBytes(id) : null;
}
