-- What a turn tells of itself beside its rows, as JSON: facts/recorded.py.
ALTER TABLE turns ADD COLUMN recorded TEXT NOT NULL DEFAULT '';
CREATE INDEX turns_by_start ON turns (started_at);
ALTER TABLE audit ADD COLUMN judge TEXT NOT NULL DEFAULT '';       -- who decided: guard/action.py
ALTER TABLE gates ADD COLUMN settled_at TEXT NOT NULL DEFAULT '';  -- "" while it is open

CREATE TABLE prompts (            -- texts of prompts, each once, while a turn that had it is kept
  digest  TEXT PRIMARY KEY,       -- SHA-256, the beginning of it
  turn_id TEXT NOT NULL,          -- the newest turn that had it
  text    TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX prompts_by_turn ON prompts (turn_id);
