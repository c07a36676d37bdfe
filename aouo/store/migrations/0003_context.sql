-- What stands for older messages, names for sessions, and a full-text index of what was said.

CREATE TABLE summaries (
  id                INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id        TEXT NOT NULL REFERENCES sessions (id),
  source_session_id TEXT NOT NULL REFERENCES sessions (id),  -- whose messages it covers
  upto_message_id   INTEGER NOT NULL,                        -- the newest of them
  messages          INTEGER NOT NULL,                        -- how many there are
  text              TEXT NOT NULL,
  tokens            INTEGER NOT NULL,
  facts             TEXT NOT NULL DEFAULT '',                -- what memory is to keep of them
  flushed_at        TEXT NOT NULL DEFAULT '',                -- when memory got the facts
  created_at        TEXT NOT NULL,
  undone_at         TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX summaries_by_session ON summaries (session_id, id);

ALTER TABLE sessions ADD COLUMN titling TEXT NOT NULL DEFAULT ''
  CHECK (titling IN ('', 'wanted', 'done'));
ALTER TABLE sessions ADD COLUMN title_tries INTEGER NOT NULL DEFAULT 0;
CREATE INDEX sessions_wanting_titles ON sessions (id) WHERE titling = 'wanted';

ALTER TABLE sessions ADD COLUMN indexed_upto INTEGER NOT NULL DEFAULT 0;  -- of its messages
-- The words as search sees them (store/search.py); written by a search, never by a turn.
CREATE VIRTUAL TABLE messages_index USING fts5 (words, tokenize = "unicode61 remove_diacritics 2");
CREATE TRIGGER messages_gone AFTER DELETE ON messages BEGIN
  DELETE FROM messages_index WHERE rowid = old.id;
END;
CREATE TRIGGER messages_rewritten AFTER UPDATE OF text ON messages BEGIN
  DELETE FROM messages_index WHERE rowid = old.id;
END;
