-- works with programs since 245
-- Sessions are counted for `/metrics` alone; nothing read the counts of each day.
DROP TABLE tls_count;
