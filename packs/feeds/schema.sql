-- Addresses that people follow. The runtime reads them and fills both tables.
CREATE TABLE IF NOT EXISTS sources (
  id      INTEGER PRIMARY KEY,
  url     TEXT NOT NULL UNIQUE,
  title   TEXT NOT NULL DEFAULT '',
  kind    TEXT NOT NULL DEFAULT 'feed',   -- feed | calendar
  problem TEXT NOT NULL DEFAULT ''        -- why it could not be read the last time
);

-- What was read there. Of a calendar: starts and ends, local; of a feed: ends is when it was written.
CREATE TABLE IF NOT EXISTS entries (
  source TEXT NOT NULL,                   -- the address of one of the sources
  uid    TEXT NOT NULL,
  title  TEXT NOT NULL,
  link   TEXT NOT NULL DEFAULT '',
  starts TEXT NOT NULL DEFAULT '',
  ends   TEXT NOT NULL DEFAULT '',
  place  TEXT NOT NULL DEFAULT '',
  seen   TEXT NOT NULL,                   -- UTC, when it was first read
  told   TEXT NOT NULL DEFAULT '',        -- UTC, when it was told as new
  PRIMARY KEY (source, uid, starts)
);
CREATE INDEX IF NOT EXISTS entries_by_start ON entries (starts);
CREATE TRIGGER IF NOT EXISTS what_is_not_followed_is_forgotten AFTER DELETE ON sources
BEGIN
  DELETE FROM entries WHERE source = OLD.url;
END;

-- The reminders of whoever looks, from the runtime.
CREATE TABLE IF NOT EXISTS due (
  id TEXT PRIMARY KEY NOT NULL, text TEXT NOT NULL, due TEXT NOT NULL, comes TEXT NOT NULL,
  every TEXT NOT NULL, state TEXT NOT NULL
);

CREATE VIEW IF NOT EXISTS appointments AS
SELECT substr(starts, 1, 10) AS day, starts, e.title || iif(place = '', '', ' (' || place || ')') AS what,
  iif(length(starts) > 10, substr(starts, 12) || ' ', '') AS at, ends, iif(length(starts) > 10, ends, date(ends, '-1 day')) AS until
FROM entries AS e JOIN sources AS s ON s.url = e.source WHERE starts <> '';
CREATE VIEW IF NOT EXISTS news AS
SELECT e.title, e.link, s.title AS source, e.ends AS written, e.told, e.seen
FROM entries AS e JOIN sources AS s ON s.url = e.source WHERE s.kind = 'feed';
