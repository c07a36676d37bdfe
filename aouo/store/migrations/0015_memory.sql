-- Every change of a memory file, written before the file is and settled after it.
CREATE TABLE memory_versions (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  pack       TEXT NOT NULL,
  owner      TEXT NOT NULL,                -- whose memory it is
  file       TEXT NOT NULL,                -- USER.md, …
  origin     TEXT NOT NULL CHECK (origin IN ('tool', 'summary', 'hand', 'undo')),
  state      TEXT NOT NULL CHECK (state IN ('intent', 'done', 'undone')),
  before     TEXT NOT NULL,
  after      TEXT NOT NULL,
  call_id    TEXT NOT NULL DEFAULT '',     -- a change that is asked for again is made once
  undoes     INTEGER NOT NULL DEFAULT 0,   -- an undo: the version it took back
  turn_id    TEXT NOT NULL DEFAULT '',
  person     TEXT NOT NULL DEFAULT '',     -- who wrote the message that it came from
  platform   TEXT NOT NULL DEFAULT '',
  chat_id    TEXT NOT NULL DEFAULT '',
  message_id INTEGER NOT NULL DEFAULT 0,
  at         TEXT NOT NULL
) STRICT;
CREATE INDEX memory_versions_by_owner ON memory_versions (pack, owner, id);
CREATE UNIQUE INDEX memory_versions_by_call ON memory_versions (pack, owner, call_id)
  WHERE call_id <> '';
CREATE INDEX memory_versions_by_message ON memory_versions (platform, chat_id)
  WHERE message_id > 0;

-- A pack's first conversation with somebody: it happens once.
CREATE TABLE onboarding (
  pack       TEXT NOT NULL,
  owner      TEXT NOT NULL,
  state      TEXT NOT NULL CHECK (state IN ('open', 'done', 'skipped', 'given_up')),
  sessions   INTEGER NOT NULL DEFAULT 0,   -- in how many it was tried
  turns      INTEGER NOT NULL DEFAULT 0,
  session_id TEXT NOT NULL DEFAULT '',     -- the newest of them
  offered    INTEGER NOT NULL DEFAULT 0,   -- an answer had the button that skips it
  summary    TEXT NOT NULL DEFAULT '',
  began_at   TEXT NOT NULL,
  ended_at   TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (pack, owner)
) STRICT, WITHOUT ROWID;
