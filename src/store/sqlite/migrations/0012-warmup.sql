-- How far each new source has come at each provider; `state` is JSON (store/topics/warmups.ts).
CREATE TABLE warmup (
  source TEXT NOT NULL,
  provider TEXT NOT NULL,
  state TEXT NOT NULL,
  PRIMARY KEY (source, provider)
) STRICT, WITHOUT ROWID;
