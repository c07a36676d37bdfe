-- Off the record: a conversation's mode, a turn's, and what to overwrite once it was sent.
ALTER TABLE conversation_routes ADD COLUMN off_record INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN off_record INTEGER NOT NULL DEFAULT 0;
ALTER TABLE deliveries ADD COLUMN off_record INTEGER NOT NULL DEFAULT 0;
