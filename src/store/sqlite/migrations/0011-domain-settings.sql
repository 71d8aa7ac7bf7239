-- What its owner chose for a domain, as JSON: members that are missing have their default (model/domain.ts).
ALTER TABLE domain ADD COLUMN settings TEXT NOT NULL DEFAULT '{}';
UPDATE domain SET settings = '{"subdomains":true}' WHERE subdomains = 1;
ALTER TABLE domain DROP COLUMN subdomains;
