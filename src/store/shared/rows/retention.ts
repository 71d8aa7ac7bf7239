/** What may be deleted of messages, contents and calls: conditions and searches, oldest first. Tests check their plans. */

/**
 * Condition on message `m`: some recipient is not final, or a notice is still to be written. OFFSET 0 makes the planner of
 * PostgreSQL test it message by message; otherwise it would read everything that waits, once.
 */
export const WAITS = `(EXISTS (SELECT 1 FROM delivery d WHERE d.message_seq = m.seq AND d.state IN (0, 1) {|OFFSET 0})
  OR EXISTS (SELECT 1 FROM notice_due n WHERE n.message_seq = m.seq {|OFFSET 0}))`;
/** Of message `m`: the sandbox shows it. */
export const SHOWN = 'EXISTS (SELECT 1 FROM capture c WHERE c.message_seq = m.seq {|OFFSET 0})';

/** The message of content `k`, looked up: a plan that joins reads all of them. */
const ITS_MESSAGE =
  'CROSS JOIN LATERAL (SELECT seq, created_at FROM message WHERE seq = k.message_seq OFFSET 0) m ORDER BY k.message_seq';

/** Contents of one domain. */
export const KEPT_CONTENTS_SQL = `SELECT m.seq, m.created_at, ${WAITS} OR ${SHOWN} AS stays
  FROM {kept_content k CROSS JOIN message m ON m.seq = k.message_seq
    WHERE k.domain_id = ? AND k.message_seq > ? ORDER BY k.message_seq LIMIT ?|(SELECT message_seq FROM content
    WHERE domain_id = ? AND message_seq > ? ORDER BY message_seq LIMIT ?) k ${ITS_MESSAGE}}`;

/** Messages of one domain. */
export const OLD_MESSAGES_SQL = `SELECT m.seq, m.created_at, ${WAITS} AS stays
  FROM message m {INDEXED BY message_domain|} WHERE m.domain_id = ? AND m.seq > ? ORDER BY m.seq LIMIT ?`;

/** Contents of all domains. */
export const OLDEST_CONTENTS_SQL = `SELECT m.seq, {m.size|k.size}, ${WAITS} OR ${SHOWN} AS stays
  FROM {content k CROSS JOIN message m ON m.seq = k.message_seq
    WHERE k.message_seq > ? ORDER BY k.message_seq LIMIT ?|(SELECT message_seq, size FROM content
    WHERE message_seq > ? ORDER BY message_seq LIMIT ?) k ${ITS_MESSAGE}}`;

/** Calls after an id. `stays`: the call is still needed. */
export const OLD_CALLS_SQL = `SELECT c.id, c.created_at, c.updated_at, c.state IN (0, 1)
    AND EXISTS (SELECT 1 FROM webhook w WHERE w.id = c.webhook_id AND {w.enabled = 1|w.enabled}) AS stays
  FROM webhook_call c WHERE c.id > ? ORDER BY c.id LIMIT ?`;
