-- What a command that ran leaves to its job's turn, as JSON: hints and a post-action; '' = nothing.
ALTER TABLE jobs ADD COLUMN carried TEXT NOT NULL DEFAULT '';
