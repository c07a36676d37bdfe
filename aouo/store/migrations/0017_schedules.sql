-- Schedules: proposed by packs (origin default) or made by a person or a model; each belongs to the
-- conversation that its results go to.
CREATE TABLE schedules (
  id         TEXT PRIMARY KEY,
  pack       TEXT NOT NULL,
  key        TEXT NOT NULL,                -- the default's id in pack.yml, "" = no pack's default
  origin     TEXT NOT NULL CHECK (origin IN ('default', 'person', 'model')),
  platform   TEXT NOT NULL,
  chat_id    TEXT NOT NULL,
  thread_id  TEXT NOT NULL,
  chat_kind  TEXT NOT NULL,                -- private | group | forum
  person     TEXT NOT NULL,                -- in whose name it runs
  skill      TEXT NOT NULL,                -- qualified, "" = none
  prompt     TEXT NOT NULL,
  text       TEXT NOT NULL,                -- the schedule as it was written
  zone       TEXT NOT NULL,                -- an IANA name, "" = the owner's
  since      TEXT NOT NULL,                -- when the text was taken: "every 2h" counts from here
  own_text   INTEGER NOT NULL DEFAULT 0,   -- a person changed the text, so that the pack's stays out
  enabled    INTEGER NOT NULL,
  paused     TEXT NOT NULL DEFAULT '',     -- why it is off: proposed | person | permission
  next_due   TEXT,                         -- UTC; NULL = off, or over
  last_due   TEXT NOT NULL DEFAULT '',
  last_state TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX schedules_by_default ON schedules (pack, key, platform, chat_id, thread_id)
  WHERE key <> '';
CREATE INDEX schedules_by_place ON schedules (platform, chat_id, thread_id);
CREATE INDEX schedules_due ON schedules (next_due) WHERE next_due IS NOT NULL;
