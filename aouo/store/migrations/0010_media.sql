-- What came in besides text: albums that gather, and each job's files with what they say.
ALTER TABLE jobs ADD COLUMN album TEXT NOT NULL DEFAULT '';  -- the platform's id of an album
CREATE INDEX jobs_by_album ON jobs (album, lane) WHERE album <> '';

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
