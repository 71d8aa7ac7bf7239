/** Warm-up states: one JSON text per source and provider. */
import type { WarmupRow } from '../topics/warmups.ts';
import type { Connection } from './engine/connection.ts';
import type { ParamsOf } from './engine/operation-types.ts';
import type { Session } from './engine/session.ts';

/** Every row. */
export function listWarmups(db: Connection): readonly WarmupRow[] {
  return db
    .all<{ source: string; provider: string; state: string }>('SELECT source, provider, state FROM warmup')
    .map(({ source, provider, state }) => ({ source, provider, state: JSON.parse(state) }));
}

/** Inserts or replaces one row. */
export function saveWarmup({ db }: Session, params: ParamsOf<'saveWarmup'>): void {
  db.run(
    `INSERT INTO warmup (source, provider, state) VALUES (?, ?, ?)
     ON CONFLICT (source, provider) DO UPDATE SET state = excluded.state`,
    params.source,
    params.provider,
    JSON.stringify(params.state),
  );
}
