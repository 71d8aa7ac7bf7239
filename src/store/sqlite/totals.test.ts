/** Figures that triggers keep are those that counting gives, whatever is written. */
import { afterEach, expect, it } from 'vitest';
import type { Connection } from './engine/connection.ts';
import { openDatabase } from './engine/open-database.ts';
import { temporaryFolder } from './test-support.ts';

const folder = temporaryFolder();
afterEach(() => folder.remove());

const COUNTED = {
  queues: `SELECT queue_id, min(due_at) AS due_at, count(*) AS waiting FROM delivery WHERE state = 0 GROUP BY queue_id ORDER BY 1`,
  hooks: `SELECT webhook_id, min(due_at) AS due_at, count(*) AS waiting,
      EXISTS (SELECT 1 FROM webhook w WHERE w.id = webhook_id AND enabled = 1)
        AND NOT EXISTS (SELECT 1 FROM webhook_resume r WHERE r.webhook_id = c.webhook_id) AS ready
    FROM webhook_call c WHERE state = 0 GROUP BY webhook_id ORDER BY 1`,
  domains: `SELECT q.sender_domain AS domain_id, count(*) AS recipients FROM delivery d JOIN dest_queue q ON q.id = d.queue_id
    WHERE d.state IN (0, 1) GROUP BY 1 ORDER BY 1`,
  totals: `SELECT 'calls' AS name, (SELECT count(*) FROM webhook_call WHERE state IN (0, 1))
      + (SELECT coalesce(sum(json_array_length(webhooks)), 0) FROM later_call) AS n
    UNION ALL SELECT 'contents', (SELECT coalesce(sum(size), 0) FROM kept_content)
    UNION ALL SELECT 'unfinished', (SELECT count(*) FROM delivery WHERE state IN (0, 1))
    UNION ALL SELECT 'waiting', (SELECT count(*) FROM delivery WHERE state = 0)`,
  recipients: 'SELECT DISTINCT lower(address) AS address, message_seq FROM delivery ORDER BY 1, 2',
};
const KEPT: Record<keyof typeof COUNTED, string> = {
  queues: 'SELECT queue_id, due_at, waiting FROM waiting_queue ORDER BY 1',
  hooks: 'SELECT webhook_id, due_at, waiting, ready FROM waiting_hook ORDER BY 1',
  domains: 'SELECT domain_id, recipients FROM unfinished WHERE recipients <> 0 ORDER BY 1',
  totals: 'SELECT name, n FROM total ORDER BY 1',
  recipients: 'SELECT address, message_seq FROM recipient_index ORDER BY 1, 2',
};

function change(db: Connection, int: (below: number) => number): void {
  const id = 1 + int(12);
  const hook = 1 + int(3);
  switch (int(12)) {
    case 0:
      db.run(
        `INSERT INTO delivery (id, message_seq, queue_id, state, epoch, attempts, due_at, expires_at, updated_at, kind,
           may_be_duplicate, address) VALUES (?1, 20000 + ?1, ?2, ?3, 0, 0, ?4, 9, 0, 1, 0, 'Ann@') ON CONFLICT DO NOTHING`,
        id,
        1 + int(4),
        int(4),
        int(5),
      );
      db.exec(
        'INSERT OR IGNORE INTO recipient_index SELECT message_seq >> 13, lower(address), message_seq FROM delivery',
      );
      break;
    case 1:
      db.run('UPDATE delivery SET state = ?, due_at = ? WHERE id = ?', int(4), int(5), id);
      break;
    case 2:
      // Into the other queue of its sender domain.
      db.run('UPDATE delivery SET queue_id = queue_id + iif(queue_id % 2, 1, -1) WHERE id = ?', id);
      break;
    case 3:
      db.run('DELETE FROM delivery WHERE id = ?', id);
      break;
    case 4:
      db.run(
        `INSERT INTO webhook_call (webhook_id, event_seq, state, epoch, due_at, tries, response_code, error, created_at, updated_at)
         VALUES (?, ?, 0, 0, ?, 0, 0, '', 0, 0) ON CONFLICT (webhook_id, event_seq) DO UPDATE
           SET state = 0, due_at = excluded.due_at WHERE state IN (2, 3)`,
        hook,
        id,
        int(5),
      );
      break;
    case 5:
      db.run('UPDATE webhook_call SET state = ?, due_at = ? WHERE event_seq = ?', int(4), int(5), id);
      break;
    case 6:
      db.run('DELETE FROM webhook_call WHERE event_seq = ? AND webhook_id = ?', id, hook);
      break;
    case 7:
      db.run('UPDATE webhook SET enabled = 1 - enabled WHERE id = ?', hook);
      break;
    case 8:
      if (int(2) === 0) db.run('DELETE FROM webhook_resume WHERE webhook_id = ?', hook);
      else db.run('INSERT OR REPLACE INTO webhook_resume VALUES (?, 0, 0, -1, -1)', hook);
      break;
    case 9:
      db.run("INSERT INTO later_call VALUES (1, ?, 0, '[1,2,3]') ON CONFLICT DO NOTHING", id);
      db.run("UPDATE later_call SET webhooks = '[2]' WHERE event_seq = ?", 1 + int(12));
      db.run('DELETE FROM later_call WHERE event_seq = ?', 1 + int(12));
      break;
    case 10:
      db.run("UPDATE delivery SET address = 'Erased@' WHERE id = ?", id);
      break;
    default:
      if (int(2) === 0) db.run('DELETE FROM kept_content WHERE message_seq = ?', id);
      else db.run('INSERT INTO kept_content VALUES (1, ?, ?) ON CONFLICT DO NOTHING', id, 10 + int(5));
  }
}

it('keeps every figure as counting gives it', () => {
  const db = openDatabase(folder.file('store.db'));
  db.exec(`INSERT INTO dest_queue (id, lane, sender_domain, recipient_domain)
    VALUES (1, 1, 1, 'a'), (2, 1, 1, 'b'), (3, 1, 2, 'a'), (4, 1, 2, 'b')`);
  for (const id of [1, 2])
    db.run(
      `INSERT INTO webhook (id, domain_id, event, url, description, enabled, created_at, updated_at, last_response_code,
         last_response_body, last_response_try, last_error, failed_tries, blocked_tries, secret_sealed)
       VALUES (?, 1, 'all', '', '', 1, 0, 0, 0, '', 0, '', 0, 0, x'00')`,
      id,
    );
  let seed = 7;
  const int = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let n = 0; n < 3000; n += 1) {
    change(db, int);
    for (const what of ['queues', 'hooks', 'domains', 'totals', 'recipients'] as const)
      expect(db.all(KEPT[what]), `${what} after change ${n}`).toEqual(db.all(COUNTED[what]));
  }
  db.close();
});
