-- What differs between the copies of one message: places in its content, and what a capture had in them.
-- personal: 1 = the content has places, 2 = one of them is an unsubscribe link of ours.
ALTER TABLE message ADD COLUMN personal INTEGER NOT NULL DEFAULT 0;
-- With the content, because they are offsets in it and go with it. JSON; NULL = none.
ALTER TABLE content ADD COLUMN places TEXT;
-- The texts that stood in the places of a captured copy, separated by blanks; NULL = it has none.
ALTER TABLE capture ADD COLUMN fill TEXT;
