-- Money: what calls at work may cost at most, and what people decided when a budget was used up.
ALTER TABLE usage_events ADD COLUMN hold TEXT NOT NULL DEFAULT '';  -- the reservation it settles

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

CREATE TABLE chosen_models (      -- which model answers in a conversation, for one day
  route_id   INTEGER PRIMARY KEY,
  day        TEXT NOT NULL,
  provider   TEXT NOT NULL,
  model      TEXT NOT NULL
) STRICT;
