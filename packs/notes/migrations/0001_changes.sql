-- From 0.1: notes can be pinned and changed, and none is empty.
CREATE TABLE new_entries (
  id         INTEGER PRIMARY KEY,
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
  session_id TEXT NOT NULL DEFAULT '',
  text       TEXT NOT NULL CHECK (trim(text) <> ''),
  tags       TEXT NOT NULL DEFAULT '',
  pinned     INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1))
);

INSERT INTO new_entries (id, created_at, updated_at, session_id, text, tags)
SELECT id, created_at, created_at, session_id,
  CASE trim(text) WHEN '' THEN '–' ELSE text END, lower(tags)
FROM entries;

DROP TABLE entries;
ALTER TABLE new_entries RENAME TO entries;
