-- What retention has to look at again is found without the jobs that it has emptied.
ALTER TABLE jobs ADD COLUMN forgotten INTEGER NOT NULL DEFAULT 0 CHECK (forgotten IN (0, 1));
CREATE INDEX jobs_kept ON jobs (id) WHERE forgotten = 0;
-- Those that were emptied already; the text of a message cannot hold this, its quotes are escaped.
UPDATE jobs SET forgotten = 1 WHERE state IN ('done', 'dropped', 'aside') AND carried = ''
  AND (body = '' OR instr(body, '"content":{"text":"","about":[],"parts":[],"kind":"Text"}') > 0
    AND instr(body, '"title":"",') > 0);
