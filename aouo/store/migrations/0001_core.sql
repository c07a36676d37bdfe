-- Times are UTC, ISO 8601. "" stands for "none" in text columns that are part of a key.

CREATE TABLE updates (            -- what a platform delivered, kept to drop it when it comes again
  bot_id      TEXT NOT NULL,
  update_id   INTEGER NOT NULL,
  received_at TEXT NOT NULL,
  body        TEXT NOT NULL,      -- the raw update; "" when nothing of it may be kept
  PRIMARY KEY (bot_id, update_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX updates_by_age ON updates (received_at);

CREATE TABLE cursors (
  bot_id         TEXT PRIMARY KEY,
  next_update_id INTEGER NOT NULL
) STRICT;

CREATE TABLE refusals (           -- one refusal per person and hour
  person TEXT PRIMARY KEY,
  at     TEXT NOT NULL
) STRICT;

CREATE TABLE jobs (               -- one stored inbound waiting for its turn
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  lane       TEXT NOT NULL,
  platform   TEXT NOT NULL,
  chat_id    TEXT NOT NULL,
  thread_id  TEXT NOT NULL,
  user_id    TEXT NOT NULL,
  person     TEXT NOT NULL,
  body       TEXT NOT NULL,
  state      TEXT NOT NULL CHECK (state IN
               ('gathering', 'ready', 'running', 'parked', 'done', 'dropped', 'aside')),
  due_at     TEXT NOT NULL DEFAULT '',  -- gathering: when the burst closes
  starts     INTEGER NOT NULL DEFAULT 0,
  fence      INTEGER NOT NULL DEFAULT 0,
  owner      TEXT NOT NULL DEFAULT '',
  lease_until TEXT NOT NULL DEFAULT '',
  outcome    TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL,
  settled_at TEXT NOT NULL DEFAULT ''
) STRICT;
-- One index a state: SQLite takes a partial index only for its very condition.
CREATE INDEX jobs_ready ON jobs (lane, id) WHERE state = 'ready';
CREATE INDEX jobs_running ON jobs (lane, id) WHERE state = 'running';
CREATE INDEX jobs_gathering ON jobs (lane, person) WHERE state = 'gathering';
CREATE INDEX jobs_parked ON jobs (chat_id, thread_id) WHERE state = 'parked';

CREATE TABLE conversation_routes (
  id           INTEGER PRIMARY KEY,
  platform     TEXT NOT NULL,
  chat_id      TEXT NOT NULL,
  thread_id    TEXT NOT NULL,
  user_id      TEXT NOT NULL,
  active_pack  TEXT NOT NULL DEFAULT '',
  active_skill TEXT NOT NULL DEFAULT '',   -- qualified
  session_id   TEXT NOT NULL DEFAULT '',
  chat_kind    TEXT NOT NULL DEFAULT 'private',
  gone         TEXT NOT NULL DEFAULT '',   -- why nothing can be sent here
  version      INTEGER NOT NULL DEFAULT 0,
  updated_at   TEXT NOT NULL,
  UNIQUE (platform, chat_id, thread_id, user_id)
) STRICT;

CREATE TABLE sessions (
  id           TEXT PRIMARY KEY,
  session_key  TEXT NOT NULL,
  title        TEXT NOT NULL DEFAULT '',
  active_skill TEXT NOT NULL DEFAULT '',
  created_at   TEXT NOT NULL,
  updated_at   TEXT NOT NULL
) STRICT;
CREATE INDEX sessions_by_key ON sessions (session_key, created_at);

CREATE TABLE turns (
  id          TEXT PRIMARY KEY,
  job_id      INTEGER NOT NULL REFERENCES jobs (id),
  session_id  TEXT NOT NULL REFERENCES sessions (id),
  pack        TEXT NOT NULL,
  skill       TEXT NOT NULL,
  status      TEXT NOT NULL CHECK (status IN ('open', 'ack', 'nack', 'aborted')),
  reason      TEXT NOT NULL DEFAULT '',
  resumes     INTEGER NOT NULL DEFAULT 0,
  started_at  TEXT NOT NULL,
  settled_at  TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX turns_by_job ON turns (job_id);

CREATE TABLE messages (           -- what was said, appended as it happens
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL REFERENCES sessions (id),
  turn_id    TEXT NOT NULL,
  role       TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'tool')),
  text       TEXT NOT NULL,
  calls      TEXT NOT NULL DEFAULT '',     -- assistant: [[id, name, arguments], …]
  call_id    TEXT NOT NULL DEFAULT '',     -- tool
  tool       TEXT NOT NULL DEFAULT '',
  failed     INTEGER NOT NULL DEFAULT 0,
  thoughts   TEXT NOT NULL DEFAULT '',     -- assistant: JSON
  visible    INTEGER NOT NULL DEFAULT 0,   -- set by the turn's commit
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX messages_by_session ON messages (session_id, id) WHERE visible = 1;
CREATE INDEX messages_by_turn ON messages (turn_id, id);

CREATE TABLE tool_calls (         -- intent, then result
  id         TEXT PRIMARY KEY,
  turn_id    TEXT NOT NULL REFERENCES turns (id),
  name       TEXT NOT NULL,
  arguments  TEXT NOT NULL,
  again      INTEGER NOT NULL,             -- may run again after a crash
  effect     INTEGER NOT NULL DEFAULT 0,   -- it changed something
  state      TEXT NOT NULL CHECK (state IN ('intent', 'done', 'failed', 'unknown')),
  result     TEXT NOT NULL DEFAULT '',
  started_at TEXT NOT NULL,
  ended_at   TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX tool_calls_by_turn ON tool_calls (turn_id);

CREATE TABLE deliveries (         -- the outbox: one row is one message in a chat
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  platform   TEXT NOT NULL,
  chat_id    TEXT NOT NULL,
  thread_id  TEXT NOT NULL,
  user_id    TEXT NOT NULL,
  turn_id    TEXT NOT NULL DEFAULT '',
  key        TEXT UNIQUE,                  -- a second row with the same key is the same wish
  kind       TEXT NOT NULL,                -- reply | msg | live | notice | doubt
  body       TEXT NOT NULL,                -- the rendered message as JSON
  state      TEXT NOT NULL CHECK (state IN
               ('queued', 'sending', 'live', 'sent', 'refused', 'unknown', 'dropped')),
  message_id INTEGER NOT NULL DEFAULT 0,   -- the platform's, once known
  edits      INTEGER NOT NULL DEFAULT 0,   -- the message this one replaces, 0 = a new one
  attempts   INTEGER NOT NULL DEFAULT 0,
  error      TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL,
  settled_at TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX deliveries_queued ON deliveries (id) WHERE state = 'queued';
CREATE INDEX deliveries_sending ON deliveries (id) WHERE state = 'sending';
CREATE INDEX deliveries_by_turn ON deliveries (turn_id, id);

CREATE TABLE gates (              -- a durable wait for a human
  id          TEXT PRIMARY KEY,
  kind        TEXT NOT NULL,               -- clarify | approval
  platform    TEXT NOT NULL,
  chat_id     TEXT NOT NULL,
  thread_id   TEXT NOT NULL,
  user_id     TEXT NOT NULL,
  person      TEXT NOT NULL,
  turn_id     TEXT NOT NULL,
  call_id     TEXT NOT NULL UNIQUE,
  question    TEXT NOT NULL,
  options     TEXT NOT NULL,               -- JSON list of labels
  state       TEXT NOT NULL CHECK (state IN ('open', 'answered', 'expired', 'closed')),
  answer      TEXT NOT NULL DEFAULT '',
  delivery_id INTEGER NOT NULL DEFAULT 0,
  created_at  TEXT NOT NULL,
  expires_at  TEXT NOT NULL
) STRICT;
CREATE INDEX gates_open ON gates (chat_id, thread_id) WHERE state = 'open';

CREATE TABLE usage_events (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  created_at    TEXT NOT NULL,
  day           TEXT NOT NULL,             -- local day, for the daily cap
  scope         TEXT NOT NULL,
  provider      TEXT NOT NULL DEFAULT '',
  model         TEXT NOT NULL DEFAULT '',
  pack          TEXT NOT NULL DEFAULT '',
  session_id    TEXT NOT NULL DEFAULT '',
  person        TEXT NOT NULL DEFAULT '',
  turn_id       TEXT NOT NULL DEFAULT '',
  input_tokens  INTEGER NOT NULL DEFAULT 0,
  cached_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  calls         INTEGER NOT NULL DEFAULT 1,
  cost_usd      REAL NOT NULL DEFAULT 0,
  duration_ms   INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX usage_by_day ON usage_events (day, input_tokens, output_tokens);
CREATE INDEX usage_by_session ON usage_events (session_id, input_tokens, output_tokens);

CREATE TABLE audit (              -- one PROPOSED, one EVALUATED, one terminal row per tool call
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  at        TEXT NOT NULL,
  stage     TEXT NOT NULL CHECK (stage IN ('PROPOSED', 'EVALUATED', 'EXECUTED', 'FAILED', 'BLOCKED')),
  turn_id   TEXT NOT NULL,
  call_id   TEXT NOT NULL,
  action_id TEXT NOT NULL,
  tool      TEXT NOT NULL,
  pack      TEXT NOT NULL,
  origin    TEXT NOT NULL,
  digest    TEXT NOT NULL,                 -- SHA-256 of what was proposed
  reason    TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX audit_by_call ON audit (call_id);
