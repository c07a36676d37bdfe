-- A running job whose person said /stop: it ends without an answer, also after a kill.
ALTER TABLE jobs ADD COLUMN stopped INTEGER NOT NULL DEFAULT 0 CHECK (stopped IN (0, 1));
