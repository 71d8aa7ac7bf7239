/** The instance as a whole. */
import type { DatabaseUpkeep } from '../../topics/instance.ts';
import { read, write } from '../operation.ts';

export const instanceId = write('instanceId', 'by key', { synced: true }, function* ({ db }, { proposedId }) {
  yield* db.insert('meta', { name: 'instance_id', value: proposedId }, 'ON CONFLICT DO NOTHING');
  const row = yield* db.get<{ value: string }>("SELECT value FROM meta WHERE name = 'instance_id'");
  return row?.value ?? proposedId;
});

/** One that has written and waits for its next statement has an id, and no snapshot. */
const KEEPERS = `
  SELECT 'the process ' || pid || coalesce(' (' || nullif(application_name, '') || ')', '') AS name, greatest(age(backend_xid), age(backend_xmin)) AS age
    FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
  UNION ALL SELECT 'the replication slot ' || slot_name, age(xmin) FROM pg_replication_slots
  UNION ALL SELECT 'the standby ' || application_name, age(backend_xmin) FROM pg_stat_replication
  UNION ALL SELECT 'the prepared transaction ' || gid, age(transaction) FROM pg_prepared_xacts
    WHERE database = current_database()`;

export const databaseUpkeep = read('databaseUpkeep', 'small', {}, function* (db) {
  if (db.engine === 'sqlite') return null;
  const found = yield* db.get<DatabaseUpkeep>(
    `SELECT current_setting('autovacuum')::bool AS automatic, coalesce(sum(n_dead_tup), 0)::int8 AS "oldRows",
       coalesce(sum(n_live_tup), 0)::int8 AS rows,
       (SELECT name FROM (${KEEPERS}) k WHERE age IS NOT NULL ORDER BY age DESC LIMIT 1) AS "keptBy",
       (SELECT max(age(datfrozenxid)) FROM pg_database)::float8 / 2147483647 AS "numbersUsed"
     FROM pg_stat_user_tables WHERE schemaname = current_schema() AND n_dead_tup > n_live_tup / 2`,
  );
  return found ?? null;
});
