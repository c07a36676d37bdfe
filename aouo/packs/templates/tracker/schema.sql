-- Runs again after each change: new columns are added, nothing is dropped.
CREATE TABLE IF NOT EXISTS entries (
  id    INTEGER PRIMARY KEY,
  day   TEXT NOT NULL,
  value REAL NOT NULL,
  note  TEXT NOT NULL DEFAULT ''
);
