-- What approvals bind to, the owner's lasting yes, and results too long for a prompt.
ALTER TABLE gates ADD COLUMN digest TEXT NOT NULL DEFAULT '';    -- approval: SHA-256 of what was asked about
ALTER TABLE gates ADD COLUMN used INTEGER NOT NULL DEFAULT 0;    -- approval: the call it allowed has begun
CREATE INDEX gates_asked ON gates (kind, created_at);

CREATE TABLE grants (             -- "always" of an approval: one tool of one pack, one folder and below
  pack       TEXT NOT NULL,
  tool       TEXT NOT NULL,
  folder     TEXT NOT NULL,                -- absolute, links followed
  person     TEXT NOT NULL,
  granted_at TEXT NOT NULL,
  PRIMARY KEY (pack, tool, folder)
) STRICT, WITHOUT ROWID;

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

CREATE INDEX audit_by_turn ON audit (turn_id);
