-- From 0.1: boxes become the days after which they asked again, and capitals count in words.
CREATE TABLE new_words (
  word       TEXT PRIMARY KEY NOT NULL CHECK (trim(word) <> ''),
  meaning    TEXT NOT NULL,
  example    TEXT NOT NULL DEFAULT '',
  topic      TEXT NOT NULL DEFAULT '',
  hint       TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
);

INSERT INTO new_words (word, meaning, example, created_at, updated_at)
SELECT word, meaning, example, created_at, created_at FROM words
WHERE trim(word) <> '' ORDER BY rowid;

CREATE TABLE new_cards (
  word          TEXT PRIMARY KEY NOT NULL
                REFERENCES words (word) ON DELETE CASCADE ON UPDATE CASCADE,
  due           TEXT NOT NULL,
  interval_days INTEGER NOT NULL DEFAULT 0,
  ease          INTEGER NOT NULL DEFAULT 250,
  reviews       INTEGER NOT NULL DEFAULT 0,
  lapses        INTEGER NOT NULL DEFAULT 0,
  first_at      TEXT,
  reviewed_at   TEXT
);

-- A word without a card is new. How often a word was asked was not kept: at least once a box.
INSERT INTO new_cards (word, due, interval_days, reviews, lapses, first_at, reviewed_at)
SELECT w.word,
  coalesce(date(c.due), date('now', 'localtime')),
  CASE coalesce(c.box, 0) WHEN 0 THEN 0 WHEN 1 THEN 1 WHEN 2 THEN 3 WHEN 3 THEN 7
    WHEN 4 THEN 14 WHEN 5 THEN 30 ELSE 60 END,
  coalesce(c.box + c.lapses, 0),
  coalesce(c.lapses, 0),
  CASE WHEN c.box + c.lapses > 0 THEN c.updated_at END,
  CASE WHEN c.box + c.lapses > 0 THEN c.updated_at END
FROM words AS w LEFT JOIN cards AS c ON c.word = w.word COLLATE NOCASE
WHERE trim(w.word) <> '' ORDER BY w.rowid;

DROP TABLE cards;
DROP TABLE words;
ALTER TABLE new_words RENAME TO words;
ALTER TABLE new_cards RENAME TO cards;
