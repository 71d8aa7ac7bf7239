-- The second factor of a person as JSON: the sealed secret, the last step that was used, hashes of the recovery codes.
ALTER TABLE person ADD COLUMN second_factor TEXT;
