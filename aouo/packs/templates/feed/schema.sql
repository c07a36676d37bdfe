-- Runs again after each change: new columns are added, nothing is dropped.
CREATE TABLE IF NOT EXISTS feeds (
  id  INTEGER PRIMARY KEY,
  url TEXT NOT NULL UNIQUE
);
CREATE TABLE IF NOT EXISTS items (
  link  TEXT PRIMARY KEY,
  feed  INTEGER NOT NULL REFERENCES feeds (id) ON DELETE CASCADE,
  title TEXT NOT NULL,
  told  INTEGER NOT NULL DEFAULT 0 CHECK (told IN (0, 1))
);
