-- Runs again after each change: new columns are added, nothing is dropped.
CREATE TABLE IF NOT EXISTS items (
  id         INTEGER PRIMARY KEY,
  created_at TEXT NOT NULL,
  text       TEXT NOT NULL,
  done       INTEGER NOT NULL DEFAULT 0 CHECK (done IN (0, 1))
);
