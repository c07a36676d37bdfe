PRAGMA journal_mode = WAL;
PRAGMA foreign_keys = ON;

CREATE TABLE IF NOT EXISTS practice_samples (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT,
  skill_type TEXT NOT NULL,
  content TEXT NOT NULL,
  subcap_scores TEXT,
  created_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE IF NOT EXISTS phrases (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  phrase TEXT NOT NULL,
  level TEXT NOT NULL DEFAULT 'A1'
);

CREATE INDEX IF NOT EXISTS idx_samples_created ON practice_samples(created_at);

INSERT INTO phrases (phrase, level) VALUES
  ('How are you?', 'A1'),
  ('I am looking forward to it.', 'A2'),
  ('It goes without saying.', 'B1');
