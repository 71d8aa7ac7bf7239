-- What changed between the checks of a sender domain, newest first, as JSON text; null = nothing yet.
ALTER TABLE domain ADD COLUMN changes TEXT;
