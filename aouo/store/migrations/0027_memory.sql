-- An index that keeps the messages of one conversation with one pack beside each other: whoever
-- searches there reads nobody else's. It is written anew, after each conversation's next turn.

ALTER TABLE sessions ADD COLUMN search_area INTEGER NOT NULL DEFAULT 0;  -- 0 = not indexed
CREATE INDEX sessions_by_area ON sessions (search_area);
UPDATE sessions SET indexed_upto = 0;

DROP TRIGGER messages_gone;
DROP TRIGGER messages_rewritten;
DROP TABLE messages_index;
-- The rowid is the area and the message's id in 40 bits (store/search.py).
CREATE VIRTUAL TABLE messages_index USING fts5 (
  words, prefix = 6, tokenize = "unicode61 remove_diacritics 2"
);
CREATE TRIGGER messages_gone AFTER DELETE ON messages BEGIN
  DELETE FROM messages_index WHERE rowid =
    ((SELECT search_area FROM sessions WHERE id = old.session_id) << 40) + old.id;
END;
CREATE TRIGGER messages_rewritten AFTER UPDATE OF text ON messages BEGIN
  DELETE FROM messages_index WHERE rowid =
    ((SELECT search_area FROM sessions WHERE id = old.session_id) << 40) + old.id;
END;

CREATE TABLE journal (            -- what was worth noting of what was said, a line each
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  pack       TEXT NOT NULL,
  owner      TEXT NOT NULL,       -- whose memory it is
  day        TEXT NOT NULL,       -- local
  text       TEXT NOT NULL,
  basis      TEXT NOT NULL CHECK (basis IN ('said', 'inferred')),
  message_id INTEGER NOT NULL,    -- the message that it came from
  job_id     INTEGER NOT NULL,    -- whose turn that was said in
  call_id    TEXT NOT NULL UNIQUE,
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX journal_by_owner ON journal (pack, owner, id);

ALTER TABLE sessions ADD COLUMN journal_due TEXT NOT NULL DEFAULT '';      -- "" = nothing to note
ALTER TABLE sessions ADD COLUMN journal_asked INTEGER NOT NULL DEFAULT 0;  -- by the turn at work
ALTER TABLE sessions ADD COLUMN journal_upto INTEGER NOT NULL DEFAULT 0;   -- noted, of its messages
CREATE INDEX sessions_to_note ON sessions (journal_due) WHERE journal_due <> '';

CREATE TABLE consolidations (     -- of the journal into MEMORY.md
  pack     TEXT NOT NULL,
  owner    TEXT NOT NULL,
  asked_at TEXT NOT NULL,         -- when the newest one began
  asked    INTEGER NOT NULL,      -- the newest line of the journal that it was shown
  shown    TEXT NOT NULL,         -- a digest of MEMORY.md as it was shown, "" = it was changed since
  upto     INTEGER NOT NULL DEFAULT 0,  -- the newest line that is done with
  PRIMARY KEY (pack, owner)
) STRICT, WITHOUT ROWID;

-- The table of versions once more, since a check cannot be changed.
CREATE TABLE versions (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  pack       TEXT NOT NULL,
  owner      TEXT NOT NULL,
  file       TEXT NOT NULL,
  origin     TEXT NOT NULL CHECK (origin IN ('tool', 'summary', 'hand', 'undo', 'consolidate')),
  state      TEXT NOT NULL CHECK (state IN ('intent', 'done', 'undone')),
  before     TEXT NOT NULL,
  after      TEXT NOT NULL,
  call_id    TEXT NOT NULL DEFAULT '',
  undoes     INTEGER NOT NULL DEFAULT 0,
  turn_id    TEXT NOT NULL DEFAULT '',
  person     TEXT NOT NULL DEFAULT '',
  platform   TEXT NOT NULL DEFAULT '',
  chat_id    TEXT NOT NULL DEFAULT '',
  message_id INTEGER NOT NULL DEFAULT 0,
  at         TEXT NOT NULL,
  sources    TEXT NOT NULL DEFAULT ''      -- [[line, basis, [journal id, …]], …]
) STRICT;
INSERT INTO versions (id, pack, owner, file, origin, state, before, after, call_id, undoes, turn_id,
  person, platform, chat_id, message_id, at) SELECT id, pack, owner, file, origin, state, before,
  after, call_id, undoes, turn_id, person, platform, chat_id, message_id, at FROM memory_versions;
DROP TABLE memory_versions;
ALTER TABLE versions RENAME TO memory_versions;
CREATE INDEX memory_versions_by_owner ON memory_versions (pack, owner, id);
CREATE UNIQUE INDEX memory_versions_by_call ON memory_versions (pack, owner, call_id)
  WHERE call_id <> '';
CREATE INDEX memory_versions_by_message ON memory_versions (platform, chat_id)
  WHERE message_id > 0;
