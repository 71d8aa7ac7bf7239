/** The instance as a whole. */
import type { DatabaseUpkeep } from '../../topics/instance.ts';
import { read, write } from '../operation.ts';

export const instanceId = write('instanceId', 'by key', { synced: true }, function* ({ db }, { proposedId }) {
  yield* db.insert('meta', { name: 'instance_id', value: proposedId }, 'ON CONFLICT DO NOTHING');
  const row = yield* db.get<{ value: string }>("SELECT value FROM meta WHERE name = 'instance_id'");
  return row?.value ?? proposedId;
});

const PROCESS = `'the process ' || pid || coalesce(' (' || nullif(application_name, '') || ')', '')`;

/** One that has written and waits for its next statement has an id, and no snapshot. */
const KEEPERS = `
  SELECT ${PROCESS} AS name, greatest(age(backend_xid), age(backend_xmin)) AS age
    FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
  UNION ALL SELECT 'the replication slot ' || slot_name, age(xmin) FROM pg_replication_slots
  UNION ALL SELECT 'the standby ' || application_name, age(backend_xmin) FROM pg_stat_replication
  UNION ALL SELECT 'the prepared transaction ' || gid, age(transaction) FROM pg_prepared_xacts
    WHERE database = current_database()`;

const LOG_KEEPERS = `
  SELECT slot_name, pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::int8 AS bytes FROM pg_replication_slots
    WHERE restart_lsn IS NOT NULL AND current_setting('max_slot_wal_keep_size') = '-1'`;

/** Since when a process of another role has its transaction is hidden: instead, how many the server has begun since. */
const EVENT_HOLDERS = `
  SELECT ${PROCESS} AS name, age(backend_xid) AS age
    FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_xid IS NOT NULL
      AND CASE WHEN xact_start IS NULL THEN age(backend_xid) > 100000 ELSE xact_start <= clock_timestamp() - ?1::float8 * interval '1 ms' END
  UNION ALL SELECT 'the prepared transaction ' || gid, age(transaction) FROM pg_prepared_xacts
    WHERE database = current_database() AND prepared <= clock_timestamp() - ?1::float8 * interval '1 ms'`;

export const databaseUpkeep = read('databaseUpkeep', 'small', {}, function* (db, { heldMs }) {
  if (db.engine === 'sqlite') return null;
  const found = yield* db.get<DatabaseUpkeep>(
    `SELECT current_setting('autovacuum')::bool AS automatic, coalesce(sum(n_dead_tup), 0)::int8 AS "oldRows",
       coalesce(sum(n_live_tup), 0)::int8 AS rows,
       (SELECT name FROM (${KEEPERS}) k WHERE age IS NOT NULL ORDER BY age DESC LIMIT 1) AS "keptBy",
       (SELECT name FROM (${EVENT_HOLDERS}) h ORDER BY age DESC LIMIT 1) AS "eventsHeldBy",
       (SELECT max(age(datfrozenxid)) FROM pg_database)::float8 / 2147483647 AS "numbersUsed",
       (SELECT slot_name::text FROM (${LOG_KEEPERS}) s ORDER BY bytes DESC LIMIT 1) AS "logKeptBy",
       (SELECT coalesce(max(bytes), 0) FROM (${LOG_KEEPERS}) s) AS "logKeptBytes"
     FROM pg_stat_user_tables WHERE schemaname = current_schema() AND n_dead_tup > n_live_tup / 2`,
    heldMs,
  );
  return found ?? null;
});
