-- What begins by itself besides schedules, and what waits to be told with the next digest.
CREATE TABLE ticks (              -- triggers that begin again and again
  name  TEXT PRIMARY KEY,
  at    TEXT NOT NULL,            -- when it last was due
  state TEXT NOT NULL DEFAULT ''  -- how its last run ended
) STRICT, WITHOUT ROWID;

CREATE TABLE watches (            -- what each watch saw last
  pack      TEXT NOT NULL,
  id        TEXT NOT NULL,
  tenant    TEXT NOT NULL,        -- whose data it looked at, "" = everybody's
  source    TEXT NOT NULL,        -- what it looks at: with another one it begins anew
  digest    TEXT NOT NULL,        -- of what it saw, "" = nothing yet
  seen      TEXT NOT NULL,        -- the beginning of it, to say what changed
  validator TEXT NOT NULL,        -- what a server knows it by
  next_look TEXT NOT NULL,
  failures  INTEGER NOT NULL,     -- in a row
  why       TEXT NOT NULL,        -- of the last failure
  PRIMARY KEY (pack, id, tenant)
) STRICT, WITHOUT ROWID;

CREATE TABLE attention (          -- how much a person got today that they had not asked for
  person TEXT PRIMARY KEY,
  day    TEXT NOT NULL,           -- local
  sent   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE kept_reports (       -- what nobody asked for: waits for a digest, then for its button
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  person    TEXT NOT NULL,
  platform  TEXT NOT NULL,
  chat_id   TEXT NOT NULL,
  thread_id TEXT NOT NULL,
  user_id   TEXT NOT NULL,
  name      TEXT NOT NULL,
  text      TEXT NOT NULL,
  messages  TEXT NOT NULL,        -- all of it, rendered, as a JSON list
  due_at    TEXT,                 -- when the digest comes, NULL = it has come
  digest    INTEGER NOT NULL DEFAULT 0,  -- the first report of the digest it came with
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX kept_reports_due ON kept_reports (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX kept_reports_told ON kept_reports (digest) WHERE digest > 0;
