-- Figures that would otherwise be counted anew by each question, over everything that waits or is kept. Triggers keep them, so
-- that whatever writes a row counts it.

-- Queues with recipients that wait: the earliest due time and how many.
CREATE TABLE waiting_queue (
  queue_id INTEGER PRIMARY KEY,
  sender_domain INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  waiting INTEGER NOT NULL
) STRICT;
CREATE INDEX waiting_queue_due ON waiting_queue (due_at);
CREATE INDEX waiting_queue_domain ON waiting_queue (sender_domain, due_at);
INSERT INTO waiting_queue (queue_id, sender_domain, due_at, waiting)
SELECT d.queue_id, q.sender_domain, d.due_at, d.waiting FROM (
  SELECT queue_id, min(due_at) AS due_at, count(*) AS waiting FROM delivery WHERE state = 0 GROUP BY queue_id
) d CROSS JOIN dest_queue q ON q.id = d.queue_id;

-- Webhooks with calls that wait, in the same way. `ready`: they may be made now, the webhook is on and not being resumed.
CREATE TABLE waiting_hook (
  webhook_id INTEGER PRIMARY KEY,
  ready INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  waiting INTEGER NOT NULL
) STRICT;
CREATE INDEX waiting_hook_due ON waiting_hook (due_at) WHERE ready = 1;
INSERT INTO waiting_hook (webhook_id, ready, due_at, waiting)
SELECT webhook_id,
  EXISTS (SELECT 1 FROM webhook w WHERE w.id = c.webhook_id AND w.enabled = 1)
    AND NOT EXISTS (SELECT 1 FROM webhook_resume r WHERE r.webhook_id = c.webhook_id),
  min(due_at), count(*) FROM webhook_call c WHERE state = 0 GROUP BY webhook_id;

-- Recipients of each sender domain that wait or are being sent.
CREATE TABLE unfinished (
  domain_id INTEGER PRIMARY KEY,
  recipients INTEGER NOT NULL
) STRICT;
INSERT INTO unfinished (domain_id, recipients)
SELECT q.sender_domain, count(*) FROM delivery d CROSS JOIN dest_queue q ON q.id = d.queue_id
WHERE d.state IN (0, 1) GROUP BY q.sender_domain;

-- `waiting` and `unfinished`: recipients; `calls`: calls of webhooks that wait, are being made or are owed; `contents`: octets.
CREATE TABLE total (
  name TEXT NOT NULL PRIMARY KEY,
  n INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO total (name, n) VALUES
  ('waiting', (SELECT coalesce(sum(waiting), 0) FROM waiting_queue)),
  ('unfinished', (SELECT coalesce(sum(recipients), 0) FROM unfinished)),
  ('calls', (SELECT count(*) FROM webhook_call WHERE state IN (0, 1))
    + (SELECT coalesce(sum(json_array_length(webhooks)), 0) FROM later_call)),
  ('contents', (SELECT coalesce(sum(size), 0) FROM kept_content));

CREATE TRIGGER delivery_born_waiting AFTER INSERT ON delivery WHEN NEW.state = 0 BEGIN
  INSERT INTO waiting_queue (queue_id, sender_domain, due_at, waiting)
    SELECT id, sender_domain, NEW.due_at, 1 FROM dest_queue WHERE id = NEW.queue_id
    ON CONFLICT (queue_id) DO UPDATE SET waiting = waiting + 1, due_at = min(due_at, excluded.due_at);
  UPDATE total SET n = n + 1 WHERE name = 'waiting';
END;
CREATE TRIGGER delivery_waits AFTER UPDATE OF state, due_at, queue_id ON delivery
WHEN NEW.state = 0 AND (OLD.state <> 0 OR OLD.due_at <> NEW.due_at OR OLD.queue_id <> NEW.queue_id) BEGIN
  INSERT INTO waiting_queue (queue_id, sender_domain, due_at, waiting)
    SELECT id, sender_domain, NEW.due_at, 1 FROM dest_queue WHERE id = NEW.queue_id
    ON CONFLICT (queue_id) DO UPDATE SET waiting = waiting + 1, due_at = min(due_at, excluded.due_at);
  UPDATE total SET n = n + 1 WHERE name = 'waiting';
END;
CREATE TRIGGER delivery_waited AFTER UPDATE OF state, due_at, queue_id ON delivery
WHEN OLD.state = 0 AND (NEW.state <> 0 OR OLD.due_at <> NEW.due_at OR OLD.queue_id <> NEW.queue_id) BEGIN
  UPDATE waiting_queue SET waiting = waiting - 1 WHERE queue_id = OLD.queue_id;
  UPDATE waiting_queue SET due_at = (SELECT min(due_at) FROM delivery INDEXED BY delivery_due WHERE state = 0 AND queue_id = OLD.queue_id)
    WHERE queue_id = OLD.queue_id AND waiting > 0 AND due_at = OLD.due_at
      AND due_at <> (SELECT min(due_at) FROM delivery INDEXED BY delivery_due WHERE state = 0 AND queue_id = OLD.queue_id);
  DELETE FROM waiting_queue WHERE queue_id = OLD.queue_id AND waiting <= 0;
  UPDATE total SET n = n - 1 WHERE name = 'waiting';
END;
CREATE TRIGGER delivery_gone_waiting AFTER DELETE ON delivery WHEN OLD.state = 0 BEGIN
  UPDATE waiting_queue SET waiting = waiting - 1,
      due_at = coalesce((SELECT min(due_at) FROM delivery INDEXED BY delivery_due WHERE state = 0 AND queue_id = OLD.queue_id), due_at)
    WHERE queue_id = OLD.queue_id;
  DELETE FROM waiting_queue WHERE queue_id = OLD.queue_id AND waiting <= 0;
  UPDATE total SET n = n - 1 WHERE name = 'waiting';
END;

CREATE TRIGGER delivery_born AFTER INSERT ON delivery WHEN NEW.state IN (0, 1) BEGIN
  INSERT INTO unfinished (domain_id, recipients) SELECT sender_domain, 1 FROM dest_queue WHERE id = NEW.queue_id
    ON CONFLICT (domain_id) DO UPDATE SET recipients = recipients + 1;
  UPDATE total SET n = n + 1 WHERE name = 'unfinished';
END;
CREATE TRIGGER delivery_begun_again AFTER UPDATE OF state ON delivery WHEN NEW.state IN (0, 1) AND OLD.state NOT IN (0, 1) BEGIN
  INSERT INTO unfinished (domain_id, recipients) SELECT sender_domain, 1 FROM dest_queue WHERE id = NEW.queue_id
    ON CONFLICT (domain_id) DO UPDATE SET recipients = recipients + 1;
  UPDATE total SET n = n + 1 WHERE name = 'unfinished';
END;
CREATE TRIGGER delivery_finished AFTER UPDATE OF state ON delivery WHEN OLD.state IN (0, 1) AND NEW.state NOT IN (0, 1) BEGIN
  UPDATE unfinished SET recipients = recipients - 1
    WHERE domain_id = (SELECT sender_domain FROM dest_queue WHERE id = OLD.queue_id);
  UPDATE total SET n = n - 1 WHERE name = 'unfinished';
END;
CREATE TRIGGER delivery_gone AFTER DELETE ON delivery WHEN OLD.state IN (0, 1) BEGIN
  UPDATE unfinished SET recipients = recipients - 1
    WHERE domain_id = (SELECT sender_domain FROM dest_queue WHERE id = OLD.queue_id);
  UPDATE total SET n = n - 1 WHERE name = 'unfinished';
END;

CREATE TRIGGER call_born AFTER INSERT ON webhook_call WHEN NEW.state = 0 BEGIN
  INSERT INTO waiting_hook (webhook_id, ready, due_at, waiting) VALUES (NEW.webhook_id,
      EXISTS (SELECT 1 FROM webhook WHERE id = NEW.webhook_id AND enabled = 1)
        AND NOT EXISTS (SELECT 1 FROM webhook_resume WHERE webhook_id = NEW.webhook_id),
      NEW.due_at, 1)
    ON CONFLICT (webhook_id) DO UPDATE SET waiting = waiting + 1, due_at = min(due_at, excluded.due_at);
  UPDATE total SET n = n + 1 WHERE name = 'calls';
END;
CREATE TRIGGER call_waits AFTER UPDATE OF state, due_at ON webhook_call
WHEN NEW.state = 0 AND (OLD.state <> 0 OR OLD.due_at <> NEW.due_at) BEGIN
  INSERT INTO waiting_hook (webhook_id, ready, due_at, waiting) VALUES (NEW.webhook_id,
      EXISTS (SELECT 1 FROM webhook WHERE id = NEW.webhook_id AND enabled = 1)
        AND NOT EXISTS (SELECT 1 FROM webhook_resume WHERE webhook_id = NEW.webhook_id),
      NEW.due_at, 1)
    ON CONFLICT (webhook_id) DO UPDATE SET waiting = waiting + 1, due_at = min(due_at, excluded.due_at);
END;
CREATE TRIGGER call_waited AFTER UPDATE OF state, due_at ON webhook_call
WHEN OLD.state = 0 AND (NEW.state <> 0 OR OLD.due_at <> NEW.due_at) BEGIN
  UPDATE waiting_hook SET waiting = waiting - 1,
      due_at = coalesce((SELECT min(due_at) FROM webhook_call INDEXED BY webhook_call_due WHERE state = 0 AND webhook_id = OLD.webhook_id), due_at)
    WHERE webhook_id = OLD.webhook_id;
  DELETE FROM waiting_hook WHERE webhook_id = OLD.webhook_id AND waiting <= 0;
END;
CREATE TRIGGER call_gone_waiting AFTER DELETE ON webhook_call WHEN OLD.state = 0 BEGIN
  UPDATE waiting_hook SET waiting = waiting - 1,
      due_at = coalesce((SELECT min(due_at) FROM webhook_call INDEXED BY webhook_call_due WHERE state = 0 AND webhook_id = OLD.webhook_id), due_at)
    WHERE webhook_id = OLD.webhook_id;
  DELETE FROM waiting_hook WHERE webhook_id = OLD.webhook_id AND waiting <= 0;
END;
CREATE TRIGGER call_begun_again AFTER UPDATE OF state ON webhook_call WHEN NEW.state IN (0, 1) AND OLD.state NOT IN (0, 1) BEGIN
  UPDATE total SET n = n + 1 WHERE name = 'calls';
END;
CREATE TRIGGER call_over AFTER UPDATE OF state ON webhook_call WHEN OLD.state IN (0, 1) AND NEW.state NOT IN (0, 1) BEGIN
  UPDATE total SET n = n - 1 WHERE name = 'calls';
END;
CREATE TRIGGER call_gone AFTER DELETE ON webhook_call WHEN OLD.state IN (0, 1) BEGIN
  UPDATE total SET n = n - 1 WHERE name = 'calls';
END;
CREATE TRIGGER hook_switched AFTER UPDATE OF enabled ON webhook BEGIN
  UPDATE waiting_hook SET ready = NEW.enabled = 1 AND NOT EXISTS (SELECT 1 FROM webhook_resume WHERE webhook_id = NEW.id)
    WHERE webhook_id = NEW.id;
END;
CREATE TRIGGER hook_gone AFTER DELETE ON webhook BEGIN
  UPDATE waiting_hook SET ready = 0 WHERE webhook_id = OLD.id;
END;
CREATE TRIGGER hook_resumes AFTER INSERT ON webhook_resume BEGIN
  UPDATE waiting_hook SET ready = 0 WHERE webhook_id = NEW.webhook_id;
END;
CREATE TRIGGER hook_resumed AFTER DELETE ON webhook_resume BEGIN
  UPDATE waiting_hook SET ready = EXISTS (SELECT 1 FROM webhook WHERE id = OLD.webhook_id AND enabled = 1)
    WHERE webhook_id = OLD.webhook_id;
END;

CREATE TRIGGER later_call_owed AFTER INSERT ON later_call BEGIN
  UPDATE total SET n = n + json_array_length(NEW.webhooks) WHERE name = 'calls';
END;
CREATE TRIGGER later_call_less AFTER UPDATE OF webhooks ON later_call BEGIN
  UPDATE total SET n = n + json_array_length(NEW.webhooks) - json_array_length(OLD.webhooks) WHERE name = 'calls';
END;
CREATE TRIGGER later_call_gone AFTER DELETE ON later_call BEGIN
  UPDATE total SET n = n - json_array_length(OLD.webhooks) WHERE name = 'calls';
END;

CREATE TRIGGER content_counted AFTER INSERT ON kept_content BEGIN
  UPDATE total SET n = n + NEW.size WHERE name = 'contents';
END;
CREATE TRIGGER content_uncounted AFTER DELETE ON kept_content BEGIN
  UPDATE total SET n = n - OLD.size WHERE name = 'contents';
END;

-- Rules of one sender domain are found without passing those of others.
CREATE INDEX sandbox_rule_domain ON sandbox_rule (domain_id);
CREATE INDEX sandbox_rule_end ON sandbox_rule (expires_at);
