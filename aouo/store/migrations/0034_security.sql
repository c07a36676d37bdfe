-- By what the answer of a gate came: chat, cli, web; "" = there is none.
ALTER TABLE gates ADD COLUMN origin TEXT NOT NULL DEFAULT '';
-- How calls ended, by pack and tool; what was off the record has no digest, and is not counted.
CREATE INDEX audit_ends ON audit (pack, tool, stage, at)
  WHERE stage IN ('EXECUTED', 'FAILED', 'BLOCKED') AND digest <> '';
CREATE INDEX turns_off_record ON turns (id) WHERE off_record = 1;
