-- works with programs since 210
-- The node that would have the lease, of those that wait for it.
ALTER TABLE node_lease ADD COLUMN asked_by {number};
