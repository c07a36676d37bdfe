-- What each step of a turn took: {"pipeline.step": [calls, milliseconds], …}.
ALTER TABLE turns ADD COLUMN meter TEXT NOT NULL DEFAULT '';
