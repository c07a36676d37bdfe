-- A removal that was begun ends as it was asked for, also after a kill.
ALTER TABLE pack_changes ADD COLUMN purge INTEGER NOT NULL DEFAULT 0 CHECK (purge IN (0, 1));
