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
