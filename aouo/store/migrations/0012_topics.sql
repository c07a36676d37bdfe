-- What a topic is called, as its last service message said, and whether anything may begin there
-- by itself: "" yes, else `closed` or `deleted`.
ALTER TABLE conversation_routes ADD COLUMN title TEXT NOT NULL DEFAULT '';
ALTER TABLE conversation_routes ADD COLUMN paused TEXT NOT NULL DEFAULT '';

CREATE TABLE topic_intents (      -- a topic that is being created, until its route is bound
  platform   TEXT NOT NULL,
  chat_id    TEXT NOT NULL,
  pack       TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (platform, chat_id, pack)
) STRICT, WITHOUT ROWID;

CREATE TABLE moved_chats (        -- groups that became supergroups
  platform    TEXT NOT NULL,
  chat_id     TEXT NOT NULL,
  new_chat_id TEXT NOT NULL,
  PRIMARY KEY (platform, chat_id)
) STRICT, WITHOUT ROWID;
