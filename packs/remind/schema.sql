-- What will be said here, and what was said and is not ticked off. The runtime fills it whenever
-- somebody looks; the schedules are the truth.
CREATE TABLE IF NOT EXISTS reminders (
  id    TEXT PRIMARY KEY NOT NULL,
  text  TEXT NOT NULL,
  due   TEXT NOT NULL,             -- local time, 2026-03-01 09:00
  comes TEXT NOT NULL,             -- the same in words
  every TEXT NOT NULL,             -- "" = once
  state TEXT NOT NULL              -- coming | late | off
);
