-- Which messages are to an address, as far as `recipients_indexed` of meta says. The rows of a run, some thousand
-- neighbouring messages, are in few pages. Triggers keep it right where a recipient is removed or erased.
CREATE TABLE recipient_index (
  run INTEGER NOT NULL,
  address TEXT NOT NULL,
  message_seq INTEGER NOT NULL,
  PRIMARY KEY (run, address, message_seq)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER recipient_gone AFTER DELETE ON delivery BEGIN
  DELETE FROM recipient_index
  WHERE run = OLD.message_seq >> 13 AND address = lower(OLD.address) AND message_seq = OLD.message_seq;
END;

CREATE TRIGGER recipient_renamed AFTER UPDATE OF address ON delivery BEGIN
  UPDATE OR REPLACE recipient_index SET address = lower(NEW.address)
  WHERE run = OLD.message_seq >> 13 AND address = lower(OLD.address) AND message_seq = OLD.message_seq;
END;

-- Deliveries that may have been repeated are few among all events. The text is DUPLICATE_MARK of shared/rows/events.ts.
CREATE INDEX event_duplicate ON event (at) WHERE instr(detail, '"possibleDuplicate":true') > 0;
