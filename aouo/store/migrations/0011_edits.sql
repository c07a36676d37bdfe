-- Which job a person's message is in, so that an edit of it, or a reaction to it, finds the job.
CREATE TABLE job_messages (
  platform   TEXT NOT NULL,
  chat_id    TEXT NOT NULL,
  message_id INTEGER NOT NULL,
  job_id     INTEGER NOT NULL REFERENCES jobs (id),
  PRIMARY KEY (platform, chat_id, message_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE edits (              -- new words for a job that has begun
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id     INTEGER NOT NULL REFERENCES jobs (id),
  state      TEXT NOT NULL CHECK (state IN ('untold', 'offered', 'taken')),
  said       TEXT NOT NULL DEFAULT '',     -- untold: the message's new words
  body       TEXT NOT NULL DEFAULT '',     -- the job's inbound with them; "" once taken
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX edits_by_job ON edits (job_id);

CREATE TABLE reactions (          -- what people last put on a message
  platform   TEXT NOT NULL,
  chat_id    TEXT NOT NULL,
  message_id INTEGER NOT NULL,
  person     TEXT NOT NULL,
  name       TEXT NOT NULL,
  emoji      TEXT NOT NULL,
  session_id TEXT NOT NULL,                -- the message's, "" = it belongs to none
  told       INTEGER NOT NULL DEFAULT 0,   -- the model knows
  at         TEXT NOT NULL,
  PRIMARY KEY (platform, chat_id, message_id, person)
) STRICT, WITHOUT ROWID;
CREATE INDEX reactions_untold ON reactions (session_id) WHERE told = 0;
CREATE INDEX deliveries_by_message ON deliveries (chat_id, message_id) WHERE message_id > 0;
