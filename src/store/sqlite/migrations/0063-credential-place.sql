-- The credentials of a sender domain in the order of their ids: a page of them reads no more than it shows.
DROP INDEX smtp_credential_domain;
CREATE INDEX smtp_credential_place ON smtp_credential (domain, id);
