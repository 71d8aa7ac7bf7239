-- An SMTP credential has a space of idempotency keys of its own. Keys that are remembered go with the credential that
-- submitted their message.
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
UPDATE smtp_credential SET owner = id;
