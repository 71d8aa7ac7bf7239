-- An SMTP credential has a space of idempotency keys of its own. Keys that are remembered go with the credential that
-- submitted their message. The owner was that of the token that made the credential, which is the id of that token.
UPDATE idempotency SET owner = moved.credential
FROM (
  SELECT i.id, c.id AS credential
  FROM idempotency i
  JOIN message m ON m.id = unhex(replace(json_extract(i.body, '$.MessageID'), '-', ''))
  JOIN name n ON n.id = m.token_name_id
  JOIN smtp_credential c ON c.id = n.text
  WHERE i.operation = 'SMTP submission'
) AS moved
WHERE idempotency.id = moved.id;
ALTER TABLE smtp_credential ADD COLUMN created_by TEXT;
UPDATE smtp_credential SET created_by = owner, owner = id;
