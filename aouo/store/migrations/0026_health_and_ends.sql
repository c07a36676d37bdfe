-- How many messages may not have arrived is counted without walking the others.
CREATE INDEX deliveries_unknown ON deliveries (id) WHERE state = 'unknown';

-- A session that is over goes without a walk over all messages: its foreign keys ask for any of it,
-- visible or not.
DROP INDEX messages_by_session;
CREATE INDEX messages_by_session ON messages (session_id, visible, id);
CREATE INDEX summaries_by_source ON summaries (source_session_id);
CREATE INDEX sessions_by_age ON sessions (updated_at);
CREATE INDEX turns_open ON turns (session_id) WHERE status = 'open';
