-- Chats that nothing can be sent to: what is meant for them is refused at once, and their jobs
-- wait until somebody there is heard again.
CREATE TABLE gone_chats (
  platform TEXT NOT NULL,
  chat_id  TEXT NOT NULL,
  reason   TEXT NOT NULL,
  since    TEXT NOT NULL,
  PRIMARY KEY (platform, chat_id)
) STRICT, WITHOUT ROWID;
