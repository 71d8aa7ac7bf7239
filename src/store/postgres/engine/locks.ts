/** Who else holds locks on the tables of postrider, as a sentence for an operator. */
import type { Db } from './db.ts';

/**
 * Who locks whole tables comes first, then who has locked rows for longest. Readers lock nothing that a server of ours needs, but
 * keep a change of the schema waiting. Autovacuum has no role, and gives way.
 */
export async function lockHolder(db: Db, of: 'writers' | 'readers too'): Promise<string | null> {
  const holder = await db.get<{
    pid: number | null;
    role: string;
    program: string | null;
    prepared: string | null;
  }>(
    `SELECT a.pid, coalesce(a.usename, p.owner) AS role, a.application_name AS program, p.gid AS prepared
     FROM pg_locks l JOIN pg_class c ON c.oid = l.relation LEFT JOIN pg_stat_activity a USING (pid)
     LEFT JOIN pg_locks x ON l.pid IS NULL AND x.locktype = 'transactionid' AND x.virtualtransaction = l.virtualtransaction
     LEFT JOIN pg_prepared_xacts p ON p.transaction = x.transactionid
     WHERE l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND c.relnamespace = current_schema()::regnamespace AND (l.mode <> 'AccessShareLock' OR $1)
       AND (p.gid IS NOT NULL OR a.usename IS NOT NULL AND a.application_name NOT LIKE 'postrider %')
     ORDER BY l.mode IN ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock'), coalesce(a.xact_start, p.prepared) LIMIT 1`,
    of === 'readers too',
  );
  if (holder === undefined) return null;
  const { pid, role, program, prepared } = holder;
  return prepared === null
    ? `process ${pid} of PostgreSQL (role ${role}, program "${program}") holds locks on its tables: wait for it, or end it with SELECT pg_terminate_backend(${pid})`
    : `the prepared transaction "${prepared}" of PostgreSQL (role ${role}) holds locks on its tables: end it in that database with COMMIT PREPARED or ROLLBACK PREPARED, and its name in single quotes`;
}
