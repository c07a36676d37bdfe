-- Runs again after each change: new columns are added, nothing is dropped.
CREATE TABLE IF NOT EXISTS cards (
  id    INTEGER PRIMARY KEY,
  front TEXT NOT NULL UNIQUE,
  back  TEXT NOT NULL,
  box   INTEGER NOT NULL DEFAULT 0,  -- a card that was known comes again after 1, 2, 4 … days
  due   TEXT NOT NULL
);
