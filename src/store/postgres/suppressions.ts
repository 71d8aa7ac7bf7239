/**
 * Suppressions and the evidence that leads to them. The entry (or evidence) of an outcome with a signal is written in
 * the outcome's own transaction. Ended rows are ignored; they stay until `purgeSuppressions` or a new entry replaces
 * them.
 */

import { type SuppressionReason, suppressionKey } from '../../model/suppression.ts';
import { suppressionReasonCode } from '../shared/codes.ts';
import type { EventSubject } from '../shared/rows/events.ts';
import {
  SUPPRESSION,
  SUPPRESSION_COLUMNS,
  type SuppressionRow,
  toSuppression,
} from '../shared/rows/suppressions.ts';
import type { NewSuppression, SuppressionChange, SuppressionSignal } from '../topics/suppressions.ts';
import { int2s, int8s, texts } from './engine/arrays.ts';
import type { Db } from './engine/db.ts';
import { domainIdsIn, domainsIn } from './engine/domains-in.ts';
import { createFilter } from './engine/filter.ts';
import { lastOfLook, mergedRows } from './engine/merged.ts';
import { read, write } from './engine/operation.ts';
import { findNameId, findNameIds, type Session } from './engine/session.ts';
import { erasedKeys } from './erasing.ts';
import { appendEvent } from './events.ts';

const DAY_MS = 86_400_000;

const FROM = 'FROM suppression s JOIN name n ON n.id = s.domain_id';

export const suppressedAmong = read('suppressedAmong', async (db, params) => {
  const domainId = await findNameId(db, params.domain);
  if (domainId === null) return [];
  const keys = params.addresses.map(suppressionKey);
  const erased = await erasedKeys(db, keys);
  const rows = await db.all<SuppressionRow & { key: string }>(
    `SELECT s.key, ${SUPPRESSION_COLUMNS} ${FROM}
     WHERE s.domain_id = $1 AND s.key = ANY ($2::text[]) AND (s.expires_at IS NULL OR s.expires_at > $3) ORDER BY s.id`,
    domainId,
    texts([...keys, ...erased]),
    params.now,
  );
  if (rows.length === 0) return [];
  const byKey = Map.groupBy(rows, ({ key }) => key);
  return params.addresses.flatMap((address, i) => {
    const own = [keys[i], erased[i]].flatMap((key) => (key === undefined ? [] : (byKey.get(key) ?? [])));
    own.sort((a, b) => Number(SUPPRESSION.value(a).id) - Number(SUPPRESSION.value(b).id));
    return own.map((row) => ({ address, suppression: toSuppression(row) }));
  });
});

export const suppressedDomains = read('suppressedDomains', (db) => domainsIn(db, 'suppression'));

/** Reasons in force for recipients that were claimed, by the number of their delivery; those without are left out. */
export async function reasonsFor(
  db: Db,
  rows: readonly { id: number; domain_id: number; address: string }[],
  now: number,
): Promise<ReadonlyMap<number, readonly SuppressionReason[]>> {
  const found = new Map<number, SuppressionReason[]>();
  const keys = rows.map(({ address }) => suppressionKey(address));
  const erased = await erasedKeys(db, keys);
  const entries = await db.all<{ id: number; reason: number }>(
    `SELECT g.id, s.reason FROM unnest($1::int8[], $2::int8[], $3::text[], $4::text[]) g (id, domain_id, key, erased)
     CROSS JOIN unnest(ARRAY[g.key, g.erased]) k (key) JOIN suppression s ON s.domain_id = g.domain_id AND s.key = k.key
       AND (s.expires_at IS NULL OR s.expires_at > $5)
     ORDER BY g.id, s.reason`,
    int8s(rows.map(({ id }) => id)),
    int8s(rows.map((row) => row.domain_id)),
    texts(keys),
    texts(keys.map((_, i) => erased[i] ?? null)),
    now,
  );
  for (const { id, reason } of entries) {
    const reasons = found.get(id) ?? [];
    reasons.push(suppressionReasonCode.word(reason));
    found.set(id, reasons);
  }
  return found;
}

/** The meaning of an outcome for its recipient, written with the outcome. */
export async function applySignal(
  session: Session,
  signal: SuppressionSignal,
  subject: EventSubject & { messageSeq: number },
  address: string,
  now: number,
): Promise<void> {
  const key = suppressionKey(address);
  if (signal.needs !== null && !(await isEnough(session.db, signal, subject.domainId, key, now))) return;
  const message = await session.db.get<{ id: string }>(
    'SELECT id FROM message WHERE seq = $1',
    subject.messageSeq,
  );
  const entry: NewSuppression = {
    address,
    reason: signal.reason,
    note: '',
    expiresAt: signal.expiresAt,
    source: { messageId: message?.id ?? '', reply: signal.reply, rule: signal.rule },
  };
  if (await insertSuppression(session, subject.domainId, entry, now)) {
    await appendEvent(session, signal.event, subject);
  }
}

/** A delivery proves that the mailbox works: the evidence against it is deleted. */
export async function forgetEvidence(db: Db, domainId: number, address: string): Promise<void> {
  const sql = 'DELETE FROM suppression_evidence WHERE domain_id = $1 AND key = $2';
  await db.run(sql, domainId, suppressionKey(address));
}

/** Counts one more bounce; returns whether there were enough days over a long enough time. Then the count is reset. */
async function isEnough(
  db: Db,
  { reason, needs }: SuppressionSignal,
  domainId: number,
  key: string,
  now: number,
): Promise<boolean> {
  if (needs === null) return true;
  const code = suppressionReasonCode.of(reason);
  const row = await db.get<{ days: number; first_at: number }>(
    `INSERT INTO suppression_evidence AS e (domain_id, key, reason, days, first_at, last_at) VALUES ($1, $2, $3, 1, $4, $4)
     ON CONFLICT (domain_id, key, reason) DO UPDATE SET
       days = e.days + CASE WHEN e.last_at / ${DAY_MS} < excluded.last_at / ${DAY_MS} THEN 1 ELSE 0 END,
       last_at = greatest(e.last_at, excluded.last_at)
     RETURNING days, first_at`,
    ...[domainId, key, code, now],
  );
  if (row === undefined || row.days < needs.days || now - row.first_at < needs.spanMs) return false;
  const sql = 'DELETE FROM suppression_evidence WHERE domain_id = $1 AND key = $2 AND reason = $3';
  await db.run(sql, domainId, key, code);
  return true;
}

/** false if an entry for the reason is in force; an ended one is replaced. */
export async function insertSuppression(
  session: Session,
  domainId: number,
  entry: NewSuppression,
  now: number,
): Promise<boolean> {
  return (await insertSuppressions(session, domainId, [entry], now)) === 1;
}

/**
 * Adds entries; returns for each, in order, whether it was added. Others are already in force for their reason. Ended
 * entries are replaced.
 */
async function insertSuppressions(
  session: Session,
  domainId: number,
  entries: readonly NewSuppression[],
  now: number,
): Promise<number> {
  const { db } = session;
  const keys = texts(entries.map(({ address }) => suppressionKey(address)));
  const reasons = int2s(entries.map(({ reason }) => suppressionReasonCode.of(reason)));
  await db.run(
    `DELETE FROM suppression s USING unnest($2::text[], $3::int2[]) g (key, reason)
     WHERE s.domain_id = $1 AND s.key = g.key AND s.reason = g.reason AND s.expires_at <= $4`,
    ...[domainId, keys, reasons, now],
  );
  const added = await db.all<{ key: string; reason: number }>(
    `INSERT INTO suppression (domain_id, key, reason, created_at, address, note, expires_at, message_id, reply, rule)
     SELECT $1, g.key, g.reason, $4, g.address, g.note, g.expires_at, g.message_id::uuid, g.reply, g.rule
     FROM unnest($2::text[], $3::int2[], $5::text[], $6::text[], $7::int8[], $8::text[], $9::text[], $10::text[])
       WITH ORDINALITY g (key, reason, address, note, expires_at, message_id, reply, rule, place)
     ORDER BY g.key, g.place ON CONFLICT DO NOTHING RETURNING key, reason`,
    ...[domainId, keys, reasons, now],
    texts(entries.map(({ address }) => address)),
    texts(entries.map(({ note }) => note)),
    int8s(entries.map(({ expiresAt }) => expiresAt)),
    texts(entries.map(({ source }) => source?.messageId || null)),
    texts(entries.map(({ source }) => source?.reply ?? null)),
    texts(entries.map(({ source }) => source?.rule ?? null)),
  );
  const told = added.map(({ key, reason }) => ({ key, reason: suppressionReasonCode.word(reason) }));
  await tellChanges(session, domainId, told);
  return added.length;
}

/** Has changes of the list reported after the commit, because mail that waits in memory was checked before them. */
export async function tellChanges(
  session: Session,
  domainId: number,
  changes: readonly Omit<SuppressionChange, 'senderDomain'>[],
): Promise<void> {
  if (changes.length === 0) return;
  const name = await session.db.get<{ text: string }>('SELECT text FROM name WHERE id = $1', domainId);
  if (name === undefined) return;
  for (const change of changes) session.suppressed.push({ senderDomain: name.text, ...change });
}

// One list at a time: two lists with the same addresses would lock their rows in different orders.
export const addSuppressions = write(
  'addSuppressions',
  { serial: 'suppressions' },
  async (session, { domain, entries, now }) => {
    const added = await insertSuppressions(session, await session.nameId(domain), entries, now);
    return { added, existing: entries.length - added };
  },
);

export const listSuppressions = read('listSuppressions', { lane: 'search' }, async (db, params) => {
  const { address, limit, beforeId, look, reason } = params;
  const filter = createFilter();
  filter.when('s.id < ?', beforeId);
  // An address is found by its index, domain by domain; all other conditions are tested row by row.
  const places =
    (await findNameIds(db, params.domains)) ??
    (address === undefined ? undefined : await domainIdsIn(db, 'suppression'));
  const ranges = () => ({
    sql: `SELECT s.id FROM suppression s WHERE ${places === undefined ? 'true' : 's.domain_id = g.place'}${filter.and()}`,
    values: filter.values(),
    places,
    order: 'id DESC',
  });
  const end = address === undefined ? (await lastOfLook<{ id: number }>(db, ranges(), look))?.id : undefined;
  filter.when('s.id >= ?', end);
  filter.when('s.key = ?', address === undefined ? undefined : suppressionKey(address));
  filter.when('s.reason = ?', reason === undefined ? undefined : suppressionReasonCode.of(reason));
  filter.when('s.created_at >= ?', params.since);
  filter.when("substr(s.key, strpos(s.key, '@') + 1) = ?", params.recipientDomain);
  filter.when('(s.expires_at IS NULL OR s.expires_at > ?)', params.now);
  const keys = await mergedRows<{ id: number }>(db, ranges(), limit);
  const rows = await db.all<SuppressionRow>(
    `SELECT ${SUPPRESSION_COLUMNS} ${FROM} WHERE s.id = ANY ($1::int8[]) ORDER BY s.id DESC`,
    int8s(keys.map(({ id }) => id)),
  );
  const nextId = (keys.length === limit ? keys.at(-1)?.id : end) ?? null;
  return { suppressions: rows.map(toSuppression), nextId };
});
