/** Warm-up states: one JSON text per source and provider. */
import { read, write } from './engine/operation.ts';

/** Every row. */
export const listWarmups = read('listWarmups', 'small', (db) => {
  return db
    .all<{ source: string; provider: string; state: string }>('SELECT source, provider, state FROM warmup')
    .map(({ source, provider, state }) => ({ source, provider, state: JSON.parse(state) }));
});

/** Inserts or replaces one row. What it reserves must not be reserved again. */
export const saveWarmup = write('saveWarmup', 'by key', { synced: true }, ({ db }, params) => {
  db.run(
    `INSERT INTO warmup (source, provider, state) VALUES (?, ?, ?)
     ON CONFLICT (source, provider) DO UPDATE SET state = excluded.state`,
    params.source,
    params.provider,
    JSON.stringify(params.state),
  );
});
