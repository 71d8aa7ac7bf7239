-- works with programs since 210
-- Whether others ended the epoch of a node, which did not stop by itself; not known of what an older program ends.
ALTER TABLE node ADD COLUMN lost {flag} NOT NULL DEFAULT false;
