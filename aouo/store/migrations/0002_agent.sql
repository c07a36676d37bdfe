-- What the agent keeps of a model's answers beyond words and calls.
ALTER TABLE messages ADD COLUMN native TEXT NOT NULL DEFAULT '';  -- the provider's own parts
ALTER TABLE usage_events ADD COLUMN reasoning_tokens INTEGER NOT NULL DEFAULT 0;  -- of the output
