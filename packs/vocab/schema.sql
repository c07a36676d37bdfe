-- What a word means. The word itself is the key, so adding it again corrects it.
CREATE TABLE IF NOT EXISTS words (
  word       TEXT PRIMARY KEY COLLATE NOCASE,
  meaning    TEXT NOT NULL,
  example    TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL
);

-- How well it is known. box 0 is new; due is the day it is asked next.
CREATE TABLE IF NOT EXISTS cards (
  word       TEXT PRIMARY KEY COLLATE NOCASE REFERENCES words (word) ON DELETE CASCADE,
  box        INTEGER NOT NULL DEFAULT 0 CHECK (box BETWEEN 0 AND 6),
  due        TEXT NOT NULL DEFAULT (date('now')),
  lapses     INTEGER NOT NULL DEFAULT 0,
  updated_at TEXT NOT NULL
);

CREATE INDEX IF NOT EXISTS cards_by_due ON cards (due);
