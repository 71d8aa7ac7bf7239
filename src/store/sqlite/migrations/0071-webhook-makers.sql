-- With which token a webhook was made, so that it can end with it; and what a token made by pages, so that ending all of it
-- goes in portions.
ALTER TABLE webhook ADD COLUMN created_by TEXT;
CREATE INDEX webhook_maker ON webhook (created_by) WHERE created_by IS NOT NULL;
DROP INDEX token_maker;
CREATE INDEX token_maker ON token (created_by, id) WHERE created_by IS NOT NULL;
