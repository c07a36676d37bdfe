-- What a word means. The word is the key, spelt as a dictionary does, so adding it again
-- corrects it; capitals count: "essen" and "Essen" are two words.
CREATE TABLE IF NOT EXISTS words (
  word       TEXT PRIMARY KEY NOT NULL CHECK (trim(word) <> ''),
  meaning    TEXT NOT NULL,
  example    TEXT NOT NULL DEFAULT '',
  topic      TEXT NOT NULL DEFAULT '',
  hint       TEXT NOT NULL DEFAULT '',   -- what helps to remember it
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
);

-- How well a word is known. Nobody writes here: triggers do, from words and reviews.
-- due is a day of this machine's time zone; interval_days 0 is new or forgotten.
CREATE TABLE IF NOT EXISTS cards (
  word          TEXT PRIMARY KEY NOT NULL
                REFERENCES words (word) ON DELETE CASCADE ON UPDATE CASCADE,
  due           TEXT NOT NULL,
  interval_days INTEGER NOT NULL DEFAULT 0,
  ease          INTEGER NOT NULL DEFAULT 250,   -- percent by which an interval grows
  reviews       INTEGER NOT NULL DEFAULT 0,
  lapses        INTEGER NOT NULL DEFAULT 0,
  first_at      TEXT,
  reviewed_at   TEXT
);

CREATE INDEX IF NOT EXISTS cards_by_due ON cards (due);

-- One answer. Saving it moves the card; deleting the newest of a word moves it back.
-- They outlive their word, so that the statistics stay true.
CREATE TABLE IF NOT EXISTS reviews (
  id         INTEGER PRIMARY KEY,
  word       TEXT NOT NULL,
  grade      TEXT NOT NULL CHECK (grade IN ('again', 'hard', 'good', 'easy')),
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
  card_was   TEXT   -- the card before, as JSON
);

CREATE INDEX IF NOT EXISTS reviews_by_word ON reviews (word);

-- new_per_day: how many new words a day brings.
CREATE TABLE IF NOT EXISTS settings (
  name       TEXT PRIMARY KEY NOT NULL CHECK (name IN ('new_per_day', 'language', 'meanings_in')),
  value      TEXT NOT NULL,
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
  CHECK (name <> 'new_per_day' OR CAST(value AS INTEGER) BETWEEN 1 AND 100)
);

INSERT OR IGNORE INTO settings (name, value) VALUES ('new_per_day', '10');

CREATE TABLE IF NOT EXISTS assessments (
  id         INTEGER PRIMARY KEY,
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
  language   TEXT NOT NULL,
  level      TEXT NOT NULL CHECK (level IN ('A1', 'A2', 'B1', 'B2', 'C1', 'C2')),
  asked      INTEGER NOT NULL,
  correct    INTEGER NOT NULL CHECK (correct BETWEEN 0 AND asked),
  weak       TEXT NOT NULL DEFAULT ''   -- what to practise
);

CREATE TRIGGER IF NOT EXISTS a_new_word_gets_a_card AFTER INSERT ON words
BEGIN
  INSERT OR IGNORE INTO cards (word, due)
  VALUES (NEW.word, date(NEW.created_at, 'localtime'));
END;

CREATE TRIGGER IF NOT EXISTS a_word_that_is_respelt_keeps_its_reviews AFTER UPDATE OF word ON words
BEGIN
  UPDATE reviews SET word = NEW.word WHERE word = OLD.word;
END;

CREATE TRIGGER IF NOT EXISTS only_known_words_are_reviewed BEFORE INSERT ON reviews
WHEN NOT EXISTS (SELECT 1 FROM words WHERE word = NEW.word)
BEGIN
  SELECT RAISE(ABORT, 'reviews.word is not in words: read words for its exact spelling, or add it');
END;

-- again: today once more, then as if new. hard: a little longer. good: longer by the ease.
-- easy: longer still. A word that was not due yet keeps its day, unless it was forgotten, so
-- that a button tapped twice counts once.
CREATE TRIGGER IF NOT EXISTS a_review_moves_its_card AFTER INSERT ON reviews
BEGIN
  UPDATE reviews SET card_was = (
    SELECT json_object('due', due, 'interval_days', interval_days, 'ease', ease,
                       'lapses', lapses, 'first_at', first_at, 'reviewed_at', reviewed_at)
    FROM cards WHERE word = NEW.word
  ) WHERE id = NEW.id;

  UPDATE cards SET
    lapses = lapses + (NEW.grade = 'again' AND interval_days > 0),
    ease = max(130, ease + CASE
      WHEN NEW.grade = 'again' AND interval_days > 0 THEN -20
      WHEN NEW.grade = 'hard' THEN -15
      WHEN NEW.grade = 'easy' THEN 15
      ELSE 0 END),
    interval_days = min(365, CASE NEW.grade
      WHEN 'again' THEN 0
      WHEN 'hard' THEN max(interval_days + (interval_days < 3),
        CAST(round(interval_days * 1.2) AS INTEGER))
      WHEN 'good' THEN CASE interval_days WHEN 0 THEN 1 WHEN 1 THEN 3
        ELSE CAST(round(interval_days * ease / 100.0) AS INTEGER) END
      ELSE CASE interval_days WHEN 0 THEN 4 WHEN 1 THEN 6
        ELSE CAST(round(interval_days * ease * 1.3 / 100.0) AS INTEGER) END
      END)
  WHERE word = NEW.word AND (due <= date(NEW.created_at, 'localtime') OR NEW.grade = 'again');

  UPDATE cards SET due = date(NEW.created_at, 'localtime', '+' || interval_days || ' days')
  WHERE word = NEW.word AND (due <= date(NEW.created_at, 'localtime') OR NEW.grade = 'again');

  UPDATE cards SET
    reviews = reviews + 1,
    first_at = coalesce(first_at, NEW.created_at),
    reviewed_at = NEW.created_at
  WHERE word = NEW.word;
END;

CREATE TRIGGER IF NOT EXISTS a_review_taken_back_moves_it_back AFTER DELETE ON reviews
WHEN OLD.card_was IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM reviews WHERE word = OLD.word AND id > OLD.id)
BEGIN
  UPDATE cards SET
    due = json_extract(OLD.card_was, '$.due'),
    interval_days = json_extract(OLD.card_was, '$.interval_days'),
    ease = json_extract(OLD.card_was, '$.ease'),
    lapses = json_extract(OLD.card_was, '$.lapses'),
    first_at = json_extract(OLD.card_was, '$.first_at'),
    reviewed_at = json_extract(OLD.card_was, '$.reviewed_at'),
    reviews = reviews - 1
  WHERE word = OLD.word;
END;

-- What to ask now, in this order: what waits longest, then today's new words, then what was
-- forgotten today.
CREATE VIEW IF NOT EXISTS due AS
WITH today AS (SELECT date('now', 'localtime') AS day),
fresh AS (
  SELECT word, row_number() OVER (ORDER BY created_at, rowid) AS place
  FROM words WHERE word IN (SELECT word FROM cards WHERE reviews = 0)
),
room AS (
  SELECT coalesce((SELECT CAST(value AS INTEGER) FROM settings WHERE name = 'new_per_day'), 10)
    - (SELECT count(*) FROM cards, today WHERE date(first_at, 'localtime') = day) AS words
),
listed AS (
  SELECT w.word, w.meaning, w.example, w.hint,
    CASE WHEN c.reviews = 0 THEN 'new'
         WHEN c.interval_days = 0 THEN 'again'
         ELSE 'review' END AS kind,
    CASE WHEN c.reviews = 0 THEN 1
         WHEN date(c.reviewed_at, 'localtime') = day THEN 2
         ELSE 0 END AS part,
    c.lapses, c.due,
    coalesce(f.place, 0) AS place,
    coalesce(c.reviewed_at, '') AS last
  FROM cards AS c JOIN words AS w ON w.word = c.word
  CROSS JOIN today CROSS JOIN room LEFT JOIN fresh AS f ON f.word = c.word
  WHERE c.due <= day AND (f.place IS NULL OR f.place <= room.words)
)
SELECT word, meaning, example, hint, kind, lapses,
  count(*) OVER () AS left_today
FROM listed ORDER BY part, place, due, last, word;

CREATE VIEW IF NOT EXISTS days AS
SELECT date(created_at, 'localtime') AS day, count(*) AS reviews,
  sum(grade <> 'again') AS correct, count(DISTINCT word) AS words
FROM reviews GROUP BY 1 ORDER BY 1 DESC;

CREATE VIEW IF NOT EXISTS ahead AS
SELECT due AS day, count(*) AS words FROM cards
WHERE due > date('now', 'localtime') AND due <= date('now', 'localtime', '+7 days')
GROUP BY due ORDER BY due;

CREATE VIEW IF NOT EXISTS hard_words AS
SELECT w.word, w.meaning, w.hint, c.lapses, c.ease
FROM cards AS c JOIN words AS w ON w.word = c.word
WHERE c.lapses >= 3 OR c.ease <= 190 ORDER BY c.lapses DESC, c.ease, w.word;

-- One row. known: asked again after three weeks or more. streak: days in a row with a review,
-- up to today or yesterday.
CREATE VIEW IF NOT EXISTS progress AS
WITH runs AS (SELECT day, julianday(day) - row_number() OVER (ORDER BY day) AS run FROM days),
last AS (SELECT max(day) AS day FROM days)
SELECT
  (SELECT count(*) FROM words) AS words,
  (SELECT count(*) FROM cards WHERE reviews = 0) AS new,
  (SELECT count(*) FROM cards WHERE reviews > 0 AND interval_days < 21) AS learning,
  (SELECT count(*) FROM cards WHERE interval_days >= 21) AS known,
  (SELECT count(*) FROM due) AS due,
  coalesce((SELECT reviews FROM days WHERE day = date('now', 'localtime')), 0) AS asked_today,
  coalesce((SELECT correct FROM days WHERE day = date('now', 'localtime')), 0) AS correct_today,
  (SELECT count(*) FROM runs, last
    WHERE last.day >= date('now', 'localtime', '-1 day')
      AND run = (SELECT run FROM runs WHERE runs.day = last.day)) AS streak,
  (SELECT min(due) FROM cards WHERE due > date('now', 'localtime')) AS next_due;
