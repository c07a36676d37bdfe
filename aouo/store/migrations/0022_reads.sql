-- What a person waits for is found by an index, whatever else there is.
CREATE INDEX turns_by_session ON turns (session_id, id);
CREATE INDEX gates_by_turn ON gates (turn_id);
DROP INDEX usage_by_session;
CREATE INDEX usage_by_session ON usage_events (session_id, turn_id, input_tokens, output_tokens);

-- A session that goes on from another one: its summary stands for that one's messages up to
-- `upto_message_id`, and those after it up to this one belong to both.
ALTER TABLE summaries ADD COLUMN through_message_id INTEGER NOT NULL DEFAULT 0;
UPDATE summaries SET through_message_id = upto_message_id;
