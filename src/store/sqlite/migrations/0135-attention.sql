-- Sender domains that fail, and webhooks that fail or were switched off by the server, without reading the others.
CREATE INDEX domain_failing ON domain (name) WHERE status IN ('Failing', 'Suspended');
CREATE INDEX webhook_failing ON webhook (domain_id, id)
  WHERE CASE enabled WHEN 1 THEN failing_since IS NOT NULL ELSE disabled_reason <> 'User' END;
