-- The runtime's tables, grouped by what they are about; each index stands beside its table.
-- Times are UTC, ISO 8601. "" stands for "none" in text columns, 0 in numbers that are ids.
-- One partial index a state: SQLite takes a partial index only for its very condition.


-- What comes in

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
  origin     TEXT NOT NULL DEFAULT 'chat',  -- what started it
  body       TEXT NOT NULL,
  album      TEXT NOT NULL DEFAULT '',      -- the platform's id of an album
  state      TEXT NOT NULL CHECK (state IN
               ('gathering', 'ready', 'running', 'parked', 'done', 'dropped', 'aside')),
  due_at     TEXT NOT NULL DEFAULT '',      -- gathering: when the burst closes
  deaths     INTEGER NOT NULL DEFAULT 0,    -- of processes, that count against it
  suspect    INTEGER NOT NULL DEFAULT 0 CHECK (suspect IN (0, 1)),  -- at work when one died
  at_work    INTEGER NOT NULL DEFAULT 0 CHECK (at_work IN (0, 1)),  -- its turn has begun
  fence      INTEGER NOT NULL DEFAULT 0,    -- raised by each claim: an older one cannot write
  stopped    INTEGER NOT NULL DEFAULT 0 CHECK (stopped IN (0, 1)),  -- its person said /stop
  carried    TEXT NOT NULL DEFAULT '',      -- what its command left to its turn, as JSON
  forgotten  INTEGER NOT NULL DEFAULT 0 CHECK (forgotten IN (0, 1)),  -- retention emptied it
  outcome    TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL,
  settled_at TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX jobs_ready ON jobs (lane, id) WHERE state = 'ready';
CREATE INDEX jobs_running ON jobs (lane, id) WHERE state = 'running';
CREATE INDEX jobs_gathering ON jobs (lane, person) WHERE state = 'gathering';
CREATE INDEX jobs_parked ON jobs (chat_id, thread_id) WHERE state = 'parked';
CREATE INDEX jobs_triggered ON jobs (lane)
  WHERE state IN ('ready', 'running', 'parked') AND origin NOT IN ('chat', 'web', 'cli');
CREATE INDEX jobs_by_album ON jobs (album, lane) WHERE album <> '';
CREATE INDEX jobs_kept ON jobs (id) WHERE forgotten = 0;

CREATE TABLE job_messages (       -- which job a person's message is in, for edits and reactions
  platform   TEXT NOT NULL,
  chat_id    TEXT NOT NULL,
  message_id INTEGER NOT NULL,
  job_id     INTEGER NOT NULL REFERENCES jobs (id),
  PRIMARY KEY (platform, chat_id, message_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE media (              -- one file of a job; written as each of its steps is done
  job_id     INTEGER NOT NULL REFERENCES jobs (id),
  position   INTEGER NOT NULL,             -- within the job's files, from 0
  kind       TEXT NOT NULL,                -- voice | audio | video_note | photo | document | …
  path       TEXT NOT NULL,                -- below the home's media folder
  mime_type  TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  state      TEXT NOT NULL CHECK (state IN ('fetched', 'understood')),
  text       TEXT NOT NULL DEFAULT '',     -- what was heard in it or seen on it
  created_at TEXT NOT NULL,
  PRIMARY KEY (job_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX media_by_path ON media (path);

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


-- Where it is answered: chats, routes, sessions

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
  title        TEXT NOT NULL DEFAULT '',   -- a topic's, as its last service message said
  paused       TEXT NOT NULL DEFAULT '',   -- nothing may begin there by itself: closed | deleted
  gone         TEXT NOT NULL DEFAULT '',   -- why nothing can be sent here
  off_record   INTEGER NOT NULL DEFAULT 0,
  version      INTEGER NOT NULL DEFAULT 0,
  updated_at   TEXT NOT NULL,
  UNIQUE (platform, chat_id, thread_id, user_id)
) STRICT;

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

CREATE TABLE people (             -- who asked to be let in, and what the owner decided
  person TEXT PRIMARY KEY,
  name   TEXT NOT NULL,
  role   TEXT NOT NULL,                       -- asked | no | member | guest | out
  at     TEXT NOT NULL,                       -- when they asked, or it was decided
  until  TEXT NOT NULL DEFAULT ''             -- when a guest's day ends
) STRICT, WITHOUT ROWID;

CREATE TABLE data_places (        -- whose data of a pack is used in a place that is not the first
  place  TEXT NOT NULL,                       -- the tenant that whoever writes there would be
  pack   TEXT NOT NULL,
  person TEXT NOT NULL,                       -- for whom, "" = everybody there
  tenant TEXT NOT NULL,
  PRIMARY KEY (place, pack, person)
) STRICT, WITHOUT ROWID;

CREATE TABLE gone_chats (         -- their messages are refused at once, their jobs wait
  platform TEXT NOT NULL,
  chat_id  TEXT NOT NULL,
  reason   TEXT NOT NULL,
  since    TEXT NOT NULL,
  PRIMARY KEY (platform, chat_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
  id            TEXT PRIMARY KEY,
  session_key   TEXT NOT NULL,
  title         TEXT NOT NULL DEFAULT '',
  titling       TEXT NOT NULL DEFAULT '' CHECK (titling IN ('', 'wanted', 'done')),
  title_tries   INTEGER NOT NULL DEFAULT 0,
  active_skill  TEXT NOT NULL DEFAULT '',
  search_area   INTEGER NOT NULL DEFAULT 0,   -- 0 = not indexed
  indexed_upto  INTEGER NOT NULL DEFAULT 0,   -- of its messages
  journal_due   TEXT NOT NULL DEFAULT '',     -- "" = nothing to note
  journal_asked INTEGER NOT NULL DEFAULT 0,   -- by the turn at work
  journal_upto  INTEGER NOT NULL DEFAULT 0,   -- noted, of its messages
  sources       TEXT NOT NULL DEFAULT '',     -- whose marked words it has read: lines
  created_at    TEXT NOT NULL,
  updated_at    TEXT NOT NULL
) STRICT;
CREATE INDEX sessions_by_key ON sessions (session_key, created_at);
CREATE INDEX sessions_by_age ON sessions (updated_at);
CREATE INDEX sessions_by_area ON sessions (search_area);
CREATE INDEX sessions_wanting_titles ON sessions (id) WHERE titling = 'wanted';
CREATE INDEX sessions_to_note ON sessions (journal_due) WHERE journal_due <> '';

CREATE TABLE onboarding (         -- a pack's first conversation with somebody: it happens once
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


-- The turn

CREATE TABLE turns (
  id          TEXT PRIMARY KEY,
  job_id      INTEGER NOT NULL REFERENCES jobs (id),
  session_id  TEXT NOT NULL REFERENCES sessions (id),
  pack        TEXT NOT NULL,
  skill       TEXT NOT NULL,
  tenant      TEXT NOT NULL DEFAULT '',    -- whose data it uses
  status      TEXT NOT NULL CHECK (status IN ('open', 'ack', 'nack', 'aborted')),
  reason      TEXT NOT NULL DEFAULT '',
  resumes     INTEGER NOT NULL DEFAULT 0,
  off_record  INTEGER NOT NULL DEFAULT 0,
  meter       TEXT NOT NULL DEFAULT '',    -- {"pipeline.step": [calls, milliseconds], …}
  recorded    TEXT NOT NULL DEFAULT '',    -- what it tells beside its rows: facts/recorded.py
  started_at  TEXT NOT NULL,
  settled_at  TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX turns_by_job ON turns (job_id);
CREATE INDEX turns_by_session ON turns (session_id, id);
CREATE INDEX turns_by_start ON turns (started_at);
CREATE INDEX turns_open ON turns (session_id) WHERE status = 'open';
CREATE INDEX turns_off_record ON turns (id) WHERE off_record = 1;

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
  native     TEXT NOT NULL DEFAULT '',     -- the provider's own parts
  visible    INTEGER NOT NULL DEFAULT 0,   -- set by the turn's commit
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX messages_by_session ON messages (session_id, visible, id);
CREATE INDEX messages_by_turn ON messages (turn_id, id);

-- The words as search sees them, those of one area beside each other. The rowid is the area and the
-- message's id in 40 bits (store/search.py); it is written after each conversation's turn.
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

CREATE TABLE summaries (          -- what stands for older messages
  id                 INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id         TEXT NOT NULL REFERENCES sessions (id),
  source_session_id  TEXT NOT NULL REFERENCES sessions (id),  -- whose messages it covers
  upto_message_id    INTEGER NOT NULL,                        -- the newest of them
  through_message_id INTEGER NOT NULL DEFAULT 0,              -- those after it belong to both sessions
  messages           INTEGER NOT NULL,                        -- how many there are
  text               TEXT NOT NULL,
  tokens             INTEGER NOT NULL,
  facts              TEXT NOT NULL DEFAULT '',                -- what memory is to keep of them
  flushed_at         TEXT NOT NULL DEFAULT '',                -- when memory got the facts
  created_at         TEXT NOT NULL,
  undone_at          TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX summaries_by_session ON summaries (session_id, id);
CREATE INDEX summaries_by_source ON summaries (source_session_id);

CREATE TABLE prompts (            -- texts of prompts, each once, while a turn that had it is kept
  digest  TEXT PRIMARY KEY,       -- SHA-256, the beginning of it
  turn_id TEXT NOT NULL,          -- the newest turn that had it
  text    TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX prompts_by_turn ON prompts (turn_id);

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
CREATE INDEX tool_calls_effects ON tool_calls (effect) WHERE effect = 1;

CREATE TABLE results (            -- tool results of which the model reads only a handle
  id         TEXT NOT NULL,                -- r_xxxxxx, as the model writes it
  session_id TEXT NOT NULL REFERENCES sessions (id),
  turn_id    TEXT NOT NULL,
  call_id    TEXT NOT NULL,
  tool       TEXT NOT NULL,
  text       TEXT NOT NULL,                -- redacted
  created_at TEXT NOT NULL,
  PRIMARY KEY (session_id, id)
) STRICT;
CREATE INDEX results_by_turn ON results (turn_id);
CREATE INDEX results_by_age ON results (created_at);


-- What goes out

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
  off_record INTEGER NOT NULL DEFAULT 0,   -- its body is overwritten once it was sent
  created_at TEXT NOT NULL,
  settled_at TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX deliveries_queued ON deliveries (id) WHERE state = 'queued';
CREATE INDEX deliveries_sending ON deliveries (id) WHERE state = 'sending';
CREATE INDEX deliveries_unknown ON deliveries (id) WHERE state = 'unknown';
CREATE INDEX deliveries_refused ON deliveries (id) WHERE state = 'refused';
CREATE INDEX deliveries_by_turn ON deliveries (turn_id, id);
CREATE INDEX deliveries_by_message ON deliveries (chat_id, message_id) WHERE message_id > 0;

CREATE TABLE web_messages (       -- what the local page's chats show; they outlive deliveries
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

CREATE TABLE report_parts (       -- messages that a run sent: they go out with its result
  call_id TEXT PRIMARY KEY,
  turn_id TEXT NOT NULL,
  number  INTEGER NOT NULL,       -- their order
  body    TEXT NOT NULL           -- the rendered message as JSON
) STRICT, WITHOUT ROWID;
CREATE INDEX report_parts_by_turn ON report_parts (turn_id, number);


-- Permission: gates, grants, the audit

CREATE TABLE gates (              -- a durable wait for a human
  id          TEXT PRIMARY KEY,
  kind        TEXT NOT NULL,               -- clarify | approval
  platform    TEXT NOT NULL,
  chat_id     TEXT NOT NULL,
  thread_id   TEXT NOT NULL,
  user_id     TEXT NOT NULL,
  person      TEXT NOT NULL,
  turn_id     TEXT NOT NULL,
  call_id     TEXT NOT NULL UNIQUE,        -- approval: the first of those that it asks about
  question    TEXT NOT NULL,
  options     TEXT NOT NULL,               -- JSON list of labels
  state       TEXT NOT NULL CHECK (state IN ('open', 'answered', 'expired', 'closed')),
  answer      TEXT NOT NULL DEFAULT '',
  origin      TEXT NOT NULL DEFAULT '',    -- by what the answer came: chat | cli | web
  delivery_id INTEGER NOT NULL DEFAULT 0,
  created_at  TEXT NOT NULL,
  expires_at  TEXT NOT NULL,
  settled_at  TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX gates_open ON gates (chat_id, thread_id) WHERE state = 'open';
CREATE INDEX gates_asked ON gates (kind, created_at);
CREATE INDEX gates_by_turn ON gates (turn_id);

CREATE TABLE asked_calls (        -- the calls that an approval asks about together
  call_id TEXT PRIMARY KEY,
  gate_id TEXT NOT NULL,
  tool    TEXT NOT NULL,
  targets TEXT NOT NULL,                   -- what "always" would cover: lines
  digest  TEXT NOT NULL,                   -- SHA-256 of the call and of where its paths lead
  used    INTEGER NOT NULL DEFAULT 0       -- it was allowed, and has begun
) STRICT, WITHOUT ROWID;
CREATE INDEX asked_calls_by_gate ON asked_calls (gate_id);
CREATE INDEX asked_calls_alike ON asked_calls (tool, targets);

CREATE TABLE grants (             -- "always" of an approval: what one tool of one pack may, for one person
  pack       TEXT NOT NULL,
  tool       TEXT NOT NULL,
  kind       TEXT NOT NULL CHECK (kind IN ('folder', 'target')),
  target     TEXT NOT NULL,                -- a folder, absolute, links followed, and all below; or a target
  person     TEXT NOT NULL,                -- in whose turns
  granted_at TEXT NOT NULL,
  PRIMARY KEY (pack, tool, kind, target, person)
) STRICT, WITHOUT ROWID;

CREATE TABLE server_tools (       -- what a tool server said of its tools when that was trusted
  server   TEXT NOT NULL,
  settings TEXT NOT NULL,                  -- SHA-256 of what the owner has set of it
  tool     TEXT NOT NULL,
  digest   TEXT NOT NULL,                  -- SHA-256 of name, schema, hints and description
  PRIMARY KEY (server, tool)
) STRICT, WITHOUT ROWID;

CREATE TABLE marked_files (       -- files that repeat others' words
  path   TEXT PRIMARY KEY,                 -- absolute, links followed
  source TEXT NOT NULL                     -- whose
) STRICT, WITHOUT ROWID;

CREATE TABLE kept_changes (       -- what a call changes outside of a pack's rows, as it was before
  call_id TEXT NOT NULL,
  kind    TEXT NOT NULL CHECK (kind IN ('file', 'folder', 'schedule')),  -- folder: not known
  name    TEXT NOT NULL,                   -- a path, or the id of a schedule
  before  BLOB,                            -- NULL = there was none
  after   TEXT NOT NULL,                   -- SHA-256 of a file, a schedule as JSON; "" = none
  at      TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX kept_changes_by_call ON kept_changes (call_id, kind, name);
CREATE INDEX kept_folders ON kept_changes (call_id) WHERE kind = 'folder' AND before IS NOT NULL;

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
  digest    TEXT NOT NULL,                 -- SHA-256 of what was proposed; "" = off the record
  judge     TEXT NOT NULL DEFAULT '',      -- who decided: guard/prepared.py
  reason    TEXT NOT NULL DEFAULT '',
  sink      TEXT NOT NULL DEFAULT '',      -- what the call does
  labels    TEXT NOT NULL DEFAULT '',      -- whose words its turn had read
  tier      INTEGER NOT NULL DEFAULT 0,    -- 0 rules, 1 heuristics, 2 a judge, 3 a person
  chain     TEXT NOT NULL DEFAULT ''       -- SHA-256 of this row after that of the one before
) STRICT;
CREATE INDEX audit_by_call ON audit (call_id);
CREATE INDEX audit_by_turn ON audit (turn_id);
CREATE INDEX audit_ends ON audit (pack, tool, stage, at)
  WHERE stage IN ('EXECUTED', 'FAILED', 'BLOCKED') AND digest <> '';


-- Money

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
  hold          TEXT NOT NULL DEFAULT '',  -- the reservation it settles
  input_tokens  INTEGER NOT NULL DEFAULT 0,
  cached_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  reasoning_tokens INTEGER NOT NULL DEFAULT 0,  -- of the output
  calls         INTEGER NOT NULL DEFAULT 1,
  cost_usd      REAL NOT NULL DEFAULT 0,
  unpriced      INTEGER NOT NULL DEFAULT 0 CHECK (unpriced IN (0, 1)),  -- costs 0, is not free
  duration_ms   INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX usage_by_session ON usage_events (session_id, turn_id, input_tokens, output_tokens);
-- A day is summed up in usage_days; what triggers took of it is looked for among the rows.
CREATE INDEX usage_of_triggers ON usage_events (day, session_id, input_tokens, output_tokens)
  WHERE substr(session_id, 1, 5) <> 'chat/';

CREATE TABLE usage_days (         -- sums of usage_events, true whatever is added or removed
  day           TEXT NOT NULL,
  pack          TEXT NOT NULL,
  provider      TEXT NOT NULL,
  model         TEXT NOT NULL,
  person        TEXT NOT NULL,
  scope         TEXT NOT NULL,
  calls         INTEGER NOT NULL,
  input_tokens  INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cost_usd      REAL NOT NULL,
  unpriced      INTEGER NOT NULL,         -- so many of the calls had no known price
  events        INTEGER NOT NULL,         -- so many rows; a sum of none is removed
  PRIMARY KEY (day, pack, provider, model, person, scope)
) STRICT, WITHOUT ROWID;
-- What adds rows adds to their sums itself (store/usage.py): inside a savepoint, as writes are, a
-- trigger for that would take five times as long.
CREATE TRIGGER usage_gone AFTER DELETE ON usage_events BEGIN
  UPDATE usage_days SET calls = calls - OLD.calls, input_tokens = input_tokens - OLD.input_tokens,
    cached_tokens = cached_tokens - OLD.cached_tokens,
    output_tokens = output_tokens - OLD.output_tokens, cost_usd = cost_usd - OLD.cost_usd,
    unpriced = unpriced - OLD.unpriced * OLD.calls, events = events - 1
  WHERE day = OLD.day AND pack = OLD.pack AND provider = OLD.provider AND model = OLD.model
    AND person = OLD.person AND scope = OLD.scope;
  DELETE FROM usage_days WHERE day = OLD.day AND pack = OLD.pack AND provider = OLD.provider
    AND model = OLD.model AND person = OLD.person AND scope = OLD.scope AND events = 0;
END;
CREATE TRIGGER usage_changed AFTER UPDATE ON usage_events BEGIN
  UPDATE usage_days SET calls = calls - OLD.calls, input_tokens = input_tokens - OLD.input_tokens,
    cached_tokens = cached_tokens - OLD.cached_tokens,
    output_tokens = output_tokens - OLD.output_tokens, cost_usd = cost_usd - OLD.cost_usd,
    unpriced = unpriced - OLD.unpriced * OLD.calls, events = events - 1
  WHERE day = OLD.day AND pack = OLD.pack AND provider = OLD.provider AND model = OLD.model
    AND person = OLD.person AND scope = OLD.scope;
  DELETE FROM usage_days WHERE day = OLD.day AND pack = OLD.pack AND provider = OLD.provider
    AND model = OLD.model AND person = OLD.person AND scope = OLD.scope AND events = 0;
  INSERT INTO usage_days VALUES (NEW.day, NEW.pack, NEW.provider, NEW.model, NEW.person, NEW.scope,
    NEW.calls, NEW.input_tokens, NEW.cached_tokens, NEW.output_tokens, NEW.cost_usd,
    NEW.unpriced * NEW.calls, 1)
  ON CONFLICT DO UPDATE SET calls = calls + excluded.calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_tokens = cached_tokens + excluded.cached_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    cost_usd = cost_usd + excluded.cost_usd, unpriced = unpriced + excluded.unpriced,
    events = events + 1;
END;

CREATE TABLE holds (              -- one model call at work; its usage row takes its place
  id         TEXT PRIMARY KEY,
  day        TEXT NOT NULL,
  scope      TEXT NOT NULL,
  provider   TEXT NOT NULL,
  model      TEXT NOT NULL,
  pack       TEXT NOT NULL,
  session_id TEXT NOT NULL,
  person     TEXT NOT NULL,
  turn_id    TEXT NOT NULL,
  cost_usd   REAL NOT NULL,               -- the worst case
  created_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE allowances (         -- what the owner added to a budget, for one day
  turn_id    TEXT PRIMARY KEY,            -- the refused turn that it was given for
  day        TEXT NOT NULL,
  kind       TEXT NOT NULL CHECK (kind IN ('day', 'person', 'pack')),
  name       TEXT NOT NULL,               -- "" for the day's own
  usd        REAL NOT NULL,
  created_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX allowances_by_day ON allowances (day);

CREATE TABLE budget_refusals (    -- what the buttons of a refusal mean, until one is tapped
  turn_id    TEXT PRIMARY KEY,
  day        TEXT NOT NULL,
  kind       TEXT NOT NULL CHECK (kind IN ('day', 'person', 'pack')),
  name       TEXT NOT NULL,
  raise_usd  REAL NOT NULL,
  provider   TEXT NOT NULL,               -- of the cheaper model, "" = there is none
  model      TEXT NOT NULL,
  state      TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'raised', 'cheaper', 'stopped')),
  created_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE chosen_models (      -- which model answers in a conversation
  route_id   INTEGER NOT NULL,
  day        TEXT NOT NULL,                   -- the one day on which it does, "" = each one
  provider   TEXT NOT NULL,
  model      TEXT NOT NULL,
  effort     TEXT NOT NULL DEFAULT '',        -- "" = as provider.effort says
  PRIMARY KEY (route_id, day)
) STRICT, WITHOUT ROWID;


-- What begins by itself

CREATE TABLE schedules (          -- each belongs to the conversation that its results go to
  id         TEXT PRIMARY KEY,
  pack       TEXT NOT NULL,
  key        TEXT NOT NULL,                -- the default's id in pack.yml, "" = no pack's default
  origin     TEXT NOT NULL CHECK (origin IN ('default', 'person', 'model')),
  platform   TEXT NOT NULL,
  chat_id    TEXT NOT NULL,
  thread_id  TEXT NOT NULL,
  chat_kind  TEXT NOT NULL,                -- private | group | forum
  person     TEXT NOT NULL,                -- in whose name it runs
  name       TEXT NOT NULL DEFAULT '',     -- as a person calls it
  skill      TEXT NOT NULL,                -- qualified, "" = none
  prompt     TEXT NOT NULL,
  say        TEXT NOT NULL DEFAULT '',     -- words that come verbatim, no model is asked
  act        TEXT NOT NULL DEFAULT '',     -- an action of the pack that is done, no model is asked
  source     TEXT NOT NULL DEFAULT '',     -- whose words it may repeat, besides its person's own
  text       TEXT NOT NULL,                -- the schedule as it was written
  own_text   INTEGER NOT NULL DEFAULT 0,   -- a person changed the text, so that the pack's stays out
  zone       TEXT NOT NULL,                -- an IANA name, "" = the owner's
  since      TEXT NOT NULL,                -- when the text was taken: "every 2h" counts from here
  misfire    TEXT NOT NULL DEFAULT 'run_once'
               CHECK (misfire IN ('run_once', 'skip', 'coalesce')),  -- when due times were missed
  timeout_s  INTEGER NOT NULL DEFAULT 0,   -- of a run, 0 = as any turn
  tokens_max INTEGER NOT NULL DEFAULT 0,   -- of a run, 0 = no limit
  retries    INTEGER NOT NULL DEFAULT 0,   -- after a failed run
  enabled    INTEGER NOT NULL,
  paused     TEXT NOT NULL DEFAULT '',     -- why it is off: proposed | person | permission
  next_due   TEXT,                         -- UTC; NULL = off, or over
  last_due   TEXT NOT NULL DEFAULT '',
  last_state TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX schedules_spoken ON schedules (platform, chat_id, thread_id, chat_kind, person)
  WHERE say <> '';
CREATE UNIQUE INDEX schedules_by_default ON schedules (pack, key, platform, chat_id, thread_id)
  WHERE key <> '';
CREATE INDEX schedules_by_place ON schedules (platform, chat_id, thread_id);
CREATE INDEX schedules_due ON schedules (next_due) WHERE next_due IS NOT NULL;

CREATE TABLE schedule_runs (      -- a due time counts once, whatever happens to the clock
  schedule_id TEXT NOT NULL,
  due_at      TEXT NOT NULL,
  state       TEXT NOT NULL CHECK (state IN
                ('waiting', 'done', 'silent', 'failed', 'stopped', 'missed', 'busy')),
  job_id      INTEGER NOT NULL DEFAULT 0,  -- of its newest try, 0 = it was never tried
  tries       INTEGER NOT NULL DEFAULT 0,
  retry_at    TEXT,                        -- NULL = no other try is to come
  missed      INTEGER NOT NULL DEFAULT 0,  -- how many due times before it were missed
  why         TEXT NOT NULL DEFAULT '',
  created_at  TEXT NOT NULL,
  settled_at  TEXT NOT NULL DEFAULT '',
  late_at     TEXT NOT NULL DEFAULT '',    -- when it was told that no model answers yet
  PRIMARY KEY (schedule_id, due_at)
) STRICT, WITHOUT ROWID;
CREATE INDEX schedule_runs_retry ON schedule_runs (retry_at) WHERE retry_at IS NOT NULL;

CREATE TABLE ticks (              -- triggers that begin again and again
  name  TEXT PRIMARY KEY,
  at    TEXT NOT NULL,            -- when it last was due
  state TEXT NOT NULL DEFAULT ''  -- how its last run ended
) STRICT, WITHOUT ROWID;

CREATE TABLE watches (            -- what each watch saw last
  pack      TEXT NOT NULL,
  id        TEXT NOT NULL,
  tenant    TEXT NOT NULL,        -- whose data it looked at, "" = everybody's
  source    TEXT NOT NULL,        -- what it looks at: with another one it begins anew
  digest    TEXT NOT NULL,        -- of what it saw, "" = nothing yet
  seen      TEXT NOT NULL,        -- the beginning of it, to say what changed
  validator TEXT NOT NULL,        -- what a server knows it by
  next_look TEXT NOT NULL,
  failures  INTEGER NOT NULL,     -- in a row
  why       TEXT NOT NULL,        -- of the last failure
  PRIMARY KEY (pack, id, tenant)
) STRICT, WITHOUT ROWID;

CREATE TABLE attention (          -- how much a person got today that they had not asked for
  person TEXT PRIMARY KEY,
  day    TEXT NOT NULL,           -- local
  sent   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE kept_reports (       -- what nobody asked for: waits for a digest, then for its button
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  person    TEXT NOT NULL,
  platform  TEXT NOT NULL,
  chat_id   TEXT NOT NULL,
  thread_id TEXT NOT NULL,
  user_id   TEXT NOT NULL,
  name      TEXT NOT NULL,
  text      TEXT NOT NULL,
  messages  TEXT NOT NULL,        -- all of it, rendered, as a JSON list
  due_at    TEXT,                 -- when the digest comes, NULL = it has come
  digest    INTEGER NOT NULL DEFAULT 0,  -- the first report of the digest it came with
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX kept_reports_due ON kept_reports (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX kept_reports_told ON kept_reports (digest) WHERE digest > 0;


-- Memory

CREATE TABLE memory_versions (    -- a change of a memory file: written before it, settled after it
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  pack       TEXT NOT NULL,
  owner      TEXT NOT NULL,                -- whose memory it is
  file       TEXT NOT NULL,                -- USER.md, …
  origin     TEXT NOT NULL CHECK (origin IN ('tool', 'summary', 'hand', 'undo', 'consolidate')),
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
  at         TEXT NOT NULL,
  sources    TEXT NOT NULL DEFAULT ''      -- [[line, basis, [journal id, …]], …]
) STRICT;
CREATE INDEX memory_versions_by_owner ON memory_versions (pack, owner, id);
CREATE UNIQUE INDEX memory_versions_by_call ON memory_versions (pack, owner, call_id)
  WHERE call_id <> '';
CREATE INDEX memory_versions_by_message ON memory_versions (platform, chat_id)
  WHERE message_id > 0;

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

CREATE TABLE consolidations (     -- of the journal into MEMORY.md
  pack     TEXT NOT NULL,
  owner    TEXT NOT NULL,
  asked_at TEXT NOT NULL,         -- when the newest one began
  asked    INTEGER NOT NULL,      -- the newest line of the journal that it was shown
  shown    TEXT NOT NULL,         -- a digest of MEMORY.md as it was shown, "" = it was changed since
  upto     INTEGER NOT NULL DEFAULT 0,  -- the newest line that is done with
  PRIMARY KEY (pack, owner)
) STRICT, WITHOUT ROWID;


-- Packs

CREATE TABLE installs (           -- what the owner has installed
  pack         TEXT PRIMARY KEY,
  version      TEXT NOT NULL,
  digest       TEXT NOT NULL,
  source       TEXT NOT NULL,
  signer       TEXT NOT NULL DEFAULT '',
  person       TEXT NOT NULL,
  installed_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE pack_changes (       -- what the owner was asked about
  id         TEXT PRIMARY KEY,
  pack       TEXT NOT NULL,
  kind       TEXT NOT NULL CHECK (kind IN ('install', 'upgrade', 'remove')),
  state      TEXT NOT NULL CHECK (state IN ('offered', 'begun', 'done', 'declined', 'failed')),
  version    TEXT NOT NULL,
  digest     TEXT NOT NULL,
  source     TEXT NOT NULL,
  signer     TEXT NOT NULL DEFAULT '',
  person     TEXT NOT NULL,
  purge      INTEGER NOT NULL DEFAULT 0 CHECK (purge IN (0, 1)),  -- a removal takes the data, too
  created_at TEXT NOT NULL,
  settled_at TEXT NOT NULL DEFAULT '',
  why        TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;
CREATE INDEX pack_changes_unsettled ON pack_changes (state) WHERE state IN ('offered', 'begun');
