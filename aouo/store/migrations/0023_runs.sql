-- How a schedule is run, and each of its runs: a due time counts once, whatever happens to the clock.
ALTER TABLE schedules ADD COLUMN name TEXT NOT NULL DEFAULT '';        -- as a person calls it
ALTER TABLE schedules ADD COLUMN misfire TEXT NOT NULL DEFAULT 'run_once'
  CHECK (misfire IN ('run_once', 'skip', 'coalesce'));                 -- when due times were missed
ALTER TABLE schedules ADD COLUMN timeout_s INTEGER NOT NULL DEFAULT 0; -- of a run, 0 = as any turn
ALTER TABLE schedules ADD COLUMN tokens_max INTEGER NOT NULL DEFAULT 0; -- of a run, 0 = no limit
ALTER TABLE schedules ADD COLUMN retries INTEGER NOT NULL DEFAULT 0;   -- after a failed run

CREATE TABLE schedule_runs (
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
  PRIMARY KEY (schedule_id, due_at)
) STRICT, WITHOUT ROWID;
CREATE INDEX schedule_runs_retry ON schedule_runs (retry_at) WHERE retry_at IS NOT NULL;

ALTER TABLE jobs ADD COLUMN origin TEXT NOT NULL DEFAULT 'chat';       -- what started it
CREATE INDEX jobs_triggered ON jobs (lane)
  WHERE state IN ('ready', 'running', 'parked') AND origin NOT IN ('chat', 'web', 'cli');

CREATE TABLE report_parts (       -- messages that a run sent: they go out with its result
  call_id TEXT PRIMARY KEY,
  turn_id TEXT NOT NULL,
  number  INTEGER NOT NULL,       -- their order
  body    TEXT NOT NULL           -- the rendered message as JSON
) STRICT, WITHOUT ROWID;
CREATE INDEX report_parts_by_turn ON report_parts (turn_id, number);
