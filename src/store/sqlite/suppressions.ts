/**
 * Suppressions and the evidence that leads to them. The entry (or evidence) of an outcome with a signal is written in
 * the outcome's own transaction. Ended rows are ignored; they stay until `purgeSuppressions` or a new entry replaces
 * them.
 */

import type { SQLInputValue } from 'node:sqlite';
import { uuidText } from '../../lib/ids.ts';
import { type Suppression, type SuppressionReason, suppressionKey } from '../../model/suppression.ts';
import { suppressionReasonCode, uuidBytes } from '../shared/codes.ts';
import type { EventSubject } from '../shared/rows/events.ts';
import { SUPPRESSION_COLUMNS, type SuppressionRow, toSuppression } from '../shared/rows/suppressions.ts';
import type { NewSuppression, SuppressionChange, SuppressionSignal } from '../topics/suppressions.ts';
import type { Connection } from './engine/connection.ts';
import { createFilter } from './engine/filter.ts';
import { lastOfLook, mergedRows, type Ranges } from './engine/merged.ts';
import { namesIn } from './engine/names-in.ts';
import { read, readInSteps, write } from './engine/operation.ts';
import { domainIdsIn, findNameId, findNameIds, type Session } from './engine/session.ts';
import { erasedKey } from './erasing.ts';
import { appendEvent } from './events.ts';

const DAY_MS = 86_400_000;

const JOINS = 'CROSS JOIN name n ON n.id = s.domain_id';

/** Entries in force of some addresses. The plus prevents that the order chooses the index. Tests check its plan. */
export const AMONG_SQL = `SELECT s.key, ${SUPPRESSION_COLUMNS} FROM suppression s ${JOINS}
  WHERE s.domain_id = ? AND s.key IN (SELECT value FROM json_each(?)) AND (s.expires_at IS NULL OR s.expires_at > ?)
  ORDER BY +s.id`;

/** Reasons in force for one address. Tests hold its plan to the index. */
export const REASONS_SQL = `SELECT reason FROM suppression
  WHERE domain_id = ? AND key = ? AND (expires_at IS NULL OR expires_at > ?) ORDER BY reason`;

export const suppressedAmong = read('suppressedAmong', 'measured', (db, params) => {
  const domainId = findNameId(db, params.domain);
  if (domainId === null) return [];
  const keys = params.addresses.map(suppressionKey);
  const erased = keys.map((key) => erasedKey(db, key));
  const rows = db.all<SuppressionRow & { key: string }>(
    AMONG_SQL,
    domainId,
    JSON.stringify([...keys, ...erased.filter((key) => key !== null)]),
    params.now,
  );
  if (rows.length === 0) return [];
  const found: { address: string; suppression: Suppression }[] = [];
  params.addresses.forEach((address, i) => {
    for (const row of rows)
      if (row.key === keys[i] || row.key === erased[i])
        found.push({ address, suppression: toSuppression(row) });
  });
  return found;
});

export const suppressedDomains = readInSteps('suppressedDomains', (db) => namesIn(db, 'suppression'));

/** Reasons in force for a recipient that is being claimed; costs nothing if the domain has no entries. */
export function reasonsFor(
  session: Session,
  domainId: number,
  address: string,
  now: number,
): readonly SuppressionReason[] {
  if (!session.suppressing().entries.has(domainId)) return [];
  const key = suppressionKey(address);
  const erased = erasedKey(session.db, key);
  return [key, ...(erased === null ? [] : [erased])].flatMap((each) =>
    session.db
      .all<{ reason: number }>(REASONS_SQL, domainId, each, now)
      .map((row) => suppressionReasonCode.word(row.reason)),
  );
}

export const addSuppressions = write(
  'addSuppressions',
  'by key',
  { synced: true, portion: true },
  (session, params) => {
    const domainId = session.nameId(params.domain);
    let added = 0;
    for (const entry of params.entries)
      if (insertSuppression(session, domainId, entry, params.now)) added += 1;
    return { added, existing: params.entries.length - added };
  },
);

export const listSuppressions = read('listSuppressions', 'measured', { search: true }, (db, params) => {
  const { address, limit, beforeId = Number.MAX_SAFE_INTEGER } = params;
  const domainIds = findNameIds(db, params.domains);
  const filter = createFilter();
  filter.when(
    's.reason = ?',
    params.reason === undefined ? undefined : suppressionReasonCode.of(params.reason),
  );
  filter.when('s.created_at >= ?', params.since);
  filter.when("substr(s.key, instr(s.key, '@') + 1) = ?", params.recipientDomain);
  filter.when('(s.expires_at IS NULL OR s.expires_at > ?)', params.now);
  if (address !== undefined) {
    const ids = domainIds ?? domainIdsIn(db, 'suppression');
    const entries = ids.flatMap((id) =>
      db.all<{ id: number }>(
        `SELECT s.id FROM suppression s WHERE s.domain_id = ? AND s.key = ?${filter.and()}`,
        id,
        suppressionKey(address),
        ...filter.values(),
      ),
    );
    const ordered = entries.filter(({ id }) => id < beforeId).sort((a, b) => b.id - a.id);
    return { suppressions: entriesOf(db, ordered.slice(0, limit)), nextId: ordered[limit - 1]?.id ?? null };
  }
  const all = entryRanges(domainIds, beforeId, 0, '', []);
  const end = lastOfLook<{ id: number }>(db, all, params.look)?.id;
  const keys = mergedRows<{ id: number }>(
    db,
    entryRanges(domainIds, beforeId, end ?? 0, filter.and(), filter.values()),
    limit,
  );
  return {
    suppressions: entriesOf(db, keys),
    nextId: (keys.length === limit ? keys.at(-1)?.id : end) ?? null,
  };
});

/** Entries of domains (undefined = of all), newest first, along the index of each. */
export function entryRanges(
  domainIds: readonly number[] | undefined,
  beforeId: number,
  atLeast: number,
  conditions: string,
  values: readonly SQLInputValue[],
): Ranges {
  const from =
    domainIds === undefined
      ? 'FROM suppression s NOT INDEXED WHERE true'
      : 'FROM suppression s INDEXED BY suppression_domain WHERE s.domain_id = ?';
  const places = domainIds?.map((id) => [id]) ?? [[]];
  return {
    sql: `SELECT s.id AS id ${from} AND s.id < ? AND s.id >= ?${conditions}`,
    values: places.map((place) => [...place, beforeId, atLeast, ...values]),
    order: 'id DESC',
  };
}

function entriesOf(db: Connection, keys: readonly { id: number }[]): Suppression[] {
  return keys.flatMap(({ id }) => {
    const row = db.get<SuppressionRow>(
      `SELECT ${SUPPRESSION_COLUMNS} FROM suppression s ${JOINS} WHERE s.id = ?`,
      id,
    );
    return row === undefined ? [] : [toSuppression(row)];
  });
}

/** The meaning of an outcome for its recipient, written with the outcome. */
export function applySignal(
  session: Session,
  signal: SuppressionSignal,
  subject: EventSubject,
  address: string,
  now: number,
): void {
  if (signal.needs !== null && !isEnough(session, signal, subject.domainId, suppressionKey(address), now))
    return;
  const message = session.db.get<{ id: Uint8Array }>(
    'SELECT id FROM message WHERE seq = ?',
    subject.messageSeq,
  );
  const entry: NewSuppression = {
    address,
    reason: signal.reason,
    note: '',
    expiresAt: signal.expiresAt,
    source: {
      messageId: message === undefined ? '' : uuidText(message.id),
      reply: signal.reply,
      rule: signal.rule,
    },
  };
  if (insertSuppression(session, subject.domainId, entry, now)) appendEvent(session, signal.event, subject);
}

/** A delivery proves that the mailbox works: the evidence against it is deleted. */
export function forgetEvidence(session: Session, domainId: number, address: string): void {
  if (!session.suppressing().evidence.has(domainId)) return;
  session.db.run(
    'DELETE FROM suppression_evidence WHERE domain_id = ? AND key = ?',
    domainId,
    suppressionKey(address),
  );
}

/** Counts one more bounce; returns whether there were enough days over a long enough time. Then the count is reset. */
function isEnough(
  session: Session,
  { reason, needs }: SuppressionSignal,
  domainId: number,
  key: string,
  now: number,
): boolean {
  if (needs === null) return true;
  const { db } = session;
  const code = suppressionReasonCode.of(reason);
  const row = db.get<{ days: number; first_at: number }>(
    `INSERT INTO suppression_evidence (domain_id, key, reason, days, first_at, last_at) VALUES (?, ?, ?, 1, ?, ?)
     ON CONFLICT DO UPDATE SET days = days + (last_at / ${DAY_MS} < excluded.last_at / ${DAY_MS}),
       last_at = max(last_at, excluded.last_at)
     RETURNING days, first_at`,
    domainId,
    key,
    code,
    now,
    now,
  );
  session.suppressing().evidence.add(domainId);
  if (row === undefined || row.days < needs.days || now - row.first_at < needs.spanMs) return false;
  db.run(
    'DELETE FROM suppression_evidence WHERE domain_id = ? AND key = ? AND reason = ?',
    domainId,
    key,
    code,
  );
  return true;
}

/** false if an entry for the reason is in force; an ended one is replaced. */
export function insertSuppression(
  session: Session,
  domainId: number,
  entry: NewSuppression,
  now: number,
): boolean {
  const { db } = session;
  const key = suppressionKey(entry.address);
  const reason = suppressionReasonCode.of(entry.reason);
  db.run(
    'DELETE FROM suppression WHERE domain_id = ? AND key = ? AND reason = ? AND expires_at <= ?',
    domainId,
    key,
    reason,
    now,
  );
  const { changes } = db.insert(
    'suppression',
    {
      domain_id: domainId,
      key,
      reason,
      address: entry.address,
      note: entry.note,
      created_at: now,
      expires_at: entry.expiresAt,
      message_id:
        entry.source === null || entry.source.messageId === '' ? null : uuidBytes(entry.source.messageId),
      reply: entry.source?.reply ?? null,
      rule: entry.source?.rule ?? null,
    },
    'ON CONFLICT DO NOTHING',
  );
  session.suppressing().entries.add(domainId);
  if (changes === 0) return false;
  tellChanges(session, domainId, [{ key, reason: entry.reason }]);
  return true;
}

/** Has changes of the list reported after the commit, because mail that waits in memory was checked before them. */
export function tellChanges(
  session: Session,
  domainId: number,
  changes: readonly Omit<SuppressionChange, 'senderDomain'>[],
): void {
  const name = session.db.get<{ text: string }>('SELECT text FROM name WHERE id = ?', domainId);
  if (name === undefined) return;
  for (const change of changes) session.suppressed.push({ senderDomain: name.text, ...change });
}
