-- What the last try of a webhook call was answered, and how long each try took: a JSON list of milliseconds.
ALTER TABLE webhook_call ADD COLUMN response_body {text} NOT NULL DEFAULT '';
ALTER TABLE webhook_call ADD COLUMN latencies_ms {text} NOT NULL DEFAULT '[]';
