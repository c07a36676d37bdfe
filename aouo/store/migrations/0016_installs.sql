-- What the owner has installed, and what they were asked about.
CREATE TABLE installs (
  pack         TEXT PRIMARY KEY,
  version      TEXT NOT NULL,
  digest       TEXT NOT NULL,
  source       TEXT NOT NULL,
  signer       TEXT NOT NULL DEFAULT '',
  person       TEXT NOT NULL,
  installed_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE pack_changes (
  id         TEXT PRIMARY KEY,
  pack       TEXT NOT NULL,
  kind       TEXT NOT NULL CHECK (kind IN ('install', 'upgrade', 'remove')),
  state      TEXT NOT NULL CHECK (state IN ('offered', 'begun', 'done', 'declined', 'failed')),
  version    TEXT NOT NULL,
  digest     TEXT NOT NULL,
  source     TEXT NOT NULL,
  signer     TEXT NOT NULL DEFAULT '',
  person     TEXT NOT NULL,
  created_at TEXT NOT NULL,
  settled_at TEXT NOT NULL DEFAULT '',
  why        TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

CREATE INDEX pack_changes_unsettled ON pack_changes (state) WHERE state IN ('offered', 'begun');
