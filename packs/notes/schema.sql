-- One row is one note. Times are UTC; days in the views are those of this machine's time zone.
CREATE TABLE IF NOT EXISTS entries (
  id         INTEGER PRIMARY KEY,
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
  session_id TEXT NOT NULL DEFAULT '',
  text       TEXT NOT NULL CHECK (trim(text) <> ''),
  tags       TEXT NOT NULL DEFAULT '',   -- comma separated: "work,idea"
  pinned     INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1))
);

CREATE INDEX IF NOT EXISTS entries_by_time ON entries (created_at);

-- What a week was about, written by the skill aggregator. week is its Monday.
CREATE TABLE IF NOT EXISTS weekly_summaries (
  week       TEXT PRIMARY KEY NOT NULL
             CHECK (week GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'),
  summary    TEXT NOT NULL,
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
);

-- Notes with their day and the Monday of their week.
CREATE VIEW IF NOT EXISTS dated AS
SELECT id, date(created_at, 'localtime') AS day,
  date(created_at, 'localtime', 'weekday 0', '-6 days') AS week,
  text, tags, pinned
FROM entries;

-- A row for each tag of each note.
CREATE VIEW IF NOT EXISTS tagged AS
WITH RECURSIVE cut (id, tag, rest) AS (
  SELECT id, '', tags || ',' FROM entries
  UNION ALL
  SELECT id, trim(substr(rest, 1, instr(rest, ',') - 1)), substr(rest, instr(rest, ',') + 1)
  FROM cut WHERE rest <> ''
)
SELECT DISTINCT id, ltrim(tag, '#') AS tag, fold(ltrim(tag, '#')) AS folded
FROM cut WHERE ltrim(tag, '#') <> '';

CREATE VIEW IF NOT EXISTS tags AS
SELECT min(tag) AS tag, count(DISTINCT id) AS notes, max(id) AS newest FROM tagged
GROUP BY folded ORDER BY notes DESC, tag;

-- Weeks with notes, the newest first; summary is '' until there is one.
CREATE VIEW IF NOT EXISTS weeks AS
SELECT d.week, count(*) AS notes, coalesce(max(s.summary), '') AS summary
FROM dated AS d LEFT JOIN weekly_summaries AS s ON s.week = d.week
GROUP BY d.week ORDER BY d.week DESC;

-- One row. streak: days in a row with a note, up to today or yesterday.
CREATE VIEW IF NOT EXISTS progress AS
WITH days AS (SELECT DISTINCT day FROM dated),
runs AS (SELECT day, julianday(day) - row_number() OVER (ORDER BY day) AS run FROM days),
streaks AS (SELECT count(*) AS days, max(day) AS last FROM runs GROUP BY run)
SELECT
  (SELECT count(*) FROM entries) AS notes,
  (SELECT count(*) FROM entries WHERE created_at >= date('now', '-2 days')
    AND date(created_at, 'localtime') = date('now', 'localtime')) AS today,
  (SELECT count(*) FROM entries WHERE created_at >= date('now', '-8 days')
    AND date(created_at, 'localtime') > date('now', 'localtime', '-7 days')) AS last_7_days,
  (SELECT count(*) FROM entries WHERE pinned = 1) AS pinned,
  coalesce((SELECT days FROM streaks WHERE last >= date('now', 'localtime', '-1 day')), 0)
    AS streak;
