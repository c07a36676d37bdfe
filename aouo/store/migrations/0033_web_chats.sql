-- What the chats on the local page show. The page reads these rows, so a message that is stored is
-- delivered; they outlive the records of deliveries.
CREATE TABLE web_messages (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,  -- the platform's message id
  chat_id    TEXT NOT NULL,
  key        TEXT NOT NULL UNIQUE,   -- of the delivery, or of the page that said it: never twice
  said_by    TEXT NOT NULL CHECK (said_by IN ('person', 'bot')),
  state      TEXT NOT NULL CHECK (state IN ('shown', 'deleted', 'off_record')),
  body       TEXT NOT NULL,          -- as that of a delivery, "" = deleted or off the record
  change     INTEGER NOT NULL,       -- counts all changes of all rows: what is new to a window
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX web_messages_by_chat ON web_messages (chat_id, id);
CREATE INDEX web_messages_changed ON web_messages (chat_id, change);
CREATE UNIQUE INDEX web_messages_change ON web_messages (change);
