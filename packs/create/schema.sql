-- What posts are made of: ideas, quotes, what a page said, answers to a question.
CREATE TABLE IF NOT EXISTS materials (
  id         INTEGER PRIMARY KEY,
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
  kind       TEXT NOT NULL DEFAULT 'idea' CHECK (kind IN ('idea', 'quote', 'page', 'answer', 'text')),
  content    TEXT NOT NULL CHECK (trim(content) <> ''),
  title      TEXT NOT NULL DEFAULT '',   -- of a page; the question of an answer
  source     TEXT NOT NULL DEFAULT '',   -- an address, a person, a book
  tags       TEXT NOT NULL DEFAULT '',   -- lower case, comma separated
  post_id    INTEGER REFERENCES posts (id) ON DELETE SET NULL   -- used in
);

CREATE INDEX IF NOT EXISTS materials_by_post ON materials (post_id);

-- idea: a plan; draft: written; final: as the person wants it.
CREATE TABLE IF NOT EXISTS posts (
  id         INTEGER PRIMARY KEY,
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
  title      TEXT NOT NULL CHECK (trim(title) <> ''),
  body       TEXT NOT NULL DEFAULT '',
  state      TEXT NOT NULL DEFAULT 'idea' CHECK (state IN ('idea', 'draft', 'final')),
  voice      TEXT REFERENCES voices (name) ON DELETE SET NULL ON UPDATE CASCADE,
  version    INTEGER NOT NULL DEFAULT 1,
  final_at   TEXT,
  file       TEXT NOT NULL DEFAULT '',   -- where it was last exported to
  CHECK (state = 'idea' OR trim(body) <> '')
);

CREATE TABLE IF NOT EXISTS voices (
  name        TEXT PRIMARY KEY NOT NULL COLLATE NOCASE,
  description TEXT NOT NULL,             -- how it sounds, as rules for the writer
  example     TEXT NOT NULL DEFAULT '',
  updated_at  TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
);

-- Posts with a hole: … is the topic.
CREATE TABLE IF NOT EXISTS templates (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE COLLATE NOCASE,
  body TEXT NOT NULL CHECK (trim(body) <> '')
);

INSERT INTO templates (name, body) VALUES
  ('lesson', 'What I learnt from …: 1) 2) 3). And what about you?'),
  ('news', 'New: …. Why it matters: . What comes next: .'),
  ('question', 'A question to all who know …: how did you begin?'),
  ('Lehre', 'Was ich aus … gelernt habe: 1) 2) 3). Und du?'),
  ('Neuigkeit', 'Neu: …. Warum das zählt: . Wie es weitergeht: .'),
  ('Frage', 'Eine Frage an alle, die sich mit … auskennen: wie habt ihr angefangen?');

-- Earlier bodies of a post, kept by a trigger.
CREATE TABLE IF NOT EXISTS versions (
  post_id  INTEGER NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
  version  INTEGER NOT NULL,
  body     TEXT NOT NULL,
  saved_at TEXT NOT NULL,
  PRIMARY KEY (post_id, version)
);

INSERT OR IGNORE INTO voices (name, description, example) VALUES
  ('plain', 'Short sentences, everyday words, no adjectives that only decorate. One thought a paragraph. The point first.', 'We tried it for a month. Two things worked. One did not.'),
  ('story', 'Begins in the middle of a scene. A person, a place, something that goes wrong. The lesson last, in one sentence, or not at all.', 'The train had left. I stood there with two coffees and no plan.'),
  ('expert', 'Precise and calm. A claim, its reason, its limits, an example with a number. Terms are explained once. No selling.', 'Caching helps when reads outnumber writes, here by forty to one; elsewhere it may not.');

CREATE TRIGGER IF NOT EXISTS a_rewritten_post_keeps_its_old_body AFTER UPDATE OF body ON posts
WHEN NEW.body <> OLD.body AND OLD.body <> ''
BEGIN
  INSERT OR REPLACE INTO versions (post_id, version, body, saved_at)
  VALUES (OLD.id, OLD.version, OLD.body, OLD.updated_at);
  UPDATE posts SET version = OLD.version + 1 WHERE id = OLD.id;
END;

CREATE TRIGGER IF NOT EXISTS a_post_is_final_since_a_day AFTER UPDATE OF state ON posts
WHEN NEW.state <> OLD.state
BEGIN
  UPDATE posts SET final_at = CASE NEW.state WHEN 'final' THEN NEW.updated_at END
  WHERE id = NEW.id;
END;

CREATE VIEW IF NOT EXISTS unused AS
SELECT id, date(created_at, 'localtime') AS day, kind, title, content, source, tags
FROM materials WHERE post_id IS NULL ORDER BY id DESC;

-- One row. streak: days in a row with a material, up to today or yesterday.
CREATE VIEW IF NOT EXISTS progress AS
WITH days AS (SELECT DISTINCT date(created_at, 'localtime') AS day FROM materials),
runs AS (SELECT day, julianday(day) - row_number() OVER (ORDER BY day) AS run FROM days),
streaks AS (SELECT count(*) AS days, max(day) AS last FROM runs GROUP BY run)
SELECT
  (SELECT count(*) FROM materials) AS materials,
  (SELECT count(*) FROM unused) AS unused,
  (SELECT count(*) FROM posts WHERE state = 'idea') AS ideas,
  (SELECT count(*) FROM posts WHERE state = 'draft') AS drafts,
  (SELECT count(*) FROM posts WHERE state = 'final') AS finals,
  coalesce((SELECT days FROM streaks WHERE last >= date('now', 'localtime', '-1 day')), 0)
    AS streak;
