-- A call whose price nobody knows costs 0 in the sums, and must not look free.
ALTER TABLE usage_events ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0 CHECK (unpriced IN (0, 1));
-- Of older rows nobody wrote down whether there was a price; a cost of nothing may mean that.
UPDATE usage_events SET unpriced = 1 WHERE model <> '' AND provider <> 'local' AND cost_usd = 0;

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

INSERT INTO usage_days
SELECT day, pack, provider, model, person, scope, sum(calls), sum(input_tokens),
  sum(cached_tokens), sum(output_tokens), sum(cost_usd), sum(unpriced * calls), count(*)
FROM usage_events GROUP BY day, pack, provider, model, person, scope;

-- A day is summed up there; only what triggers took of it is still looked for among the rows.
DROP INDEX usage_by_day;
CREATE INDEX usage_of_triggers ON usage_events (day, session_id, input_tokens, output_tokens)
  WHERE substr(session_id, 1, 5) <> 'chat/';

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
