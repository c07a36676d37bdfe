-- One row is one note. created_at and session_id are filled by the runtime.
CREATE TABLE IF NOT EXISTS entries (
  id         INTEGER PRIMARY KEY,
  created_at TEXT NOT NULL,
  session_id TEXT NOT NULL DEFAULT '',
  text       TEXT NOT NULL,
  tags       TEXT NOT NULL DEFAULT ''   -- lower case, comma separated: "work,idea"
);

CREATE INDEX IF NOT EXISTS entries_by_time ON entries (created_at);
