-- What was spent. day is the person's; the category follows from a word of `what`.
CREATE TABLE IF NOT EXISTS spendings (
  id         INTEGER PRIMARY KEY,
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
  day        TEXT NOT NULL DEFAULT (date('now', 'localtime')),
  what       TEXT NOT NULL CHECK (trim(what) <> ''),
  amount     REAL NOT NULL CHECK (amount > 0),
  currency   TEXT NOT NULL DEFAULT '',
  category   TEXT NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS spendings_by_day ON spendings (day);

CREATE TABLE IF NOT EXISTS budgets (
  category TEXT PRIMARY KEY NOT NULL COLLATE NOCASE,
  amount   REAL NOT NULL CHECK (amount > 0),
  currency TEXT NOT NULL DEFAULT ''
);

-- The category of a word; people and models may add to it.
CREATE TABLE IF NOT EXISTS keywords (word TEXT PRIMARY KEY NOT NULL, category TEXT NOT NULL);
INSERT OR IGNORE INTO keywords (word, category) VALUES
  ('groceries', 'Groceries'), ('supermarket', 'Groceries'), ('bread', 'Groceries'), ('milk', 'Groceries'),
  ('lunch', 'Eating out'), ('dinner', 'Eating out'), ('breakfast', 'Eating out'), ('coffee', 'Eating out'),
  ('pizza', 'Eating out'), ('restaurant', 'Eating out'), ('ice cream', 'Eating out'), ('beer', 'Eating out'),
  ('gas', 'Transport'), ('fuel', 'Transport'), ('taxi', 'Transport'), ('bus', 'Transport'), ('train', 'Transport'),
  ('parking', 'Transport'), ('flight', 'Travel'), ('hotel', 'Travel'), ('rent', 'Home'), ('electricity', 'Home'),
  ('internet', 'Home'), ('phone', 'Home'), ('cinema', 'Fun'), ('concert', 'Fun'), ('book', 'Fun'), ('gift', 'Gifts'),
  ('shoes', 'Clothes'), ('shirt', 'Clothes'), ('clothes', 'Clothes'), ('doctor', 'Health'), ('pharmacy', 'Health'),
  ('lebensmittel', 'Lebensmittel'), ('supermarkt', 'Lebensmittel'), ('brot', 'Lebensmittel'), ('milch', 'Lebensmittel'),
  ('mittagessen', 'Essen gehen'), ('abendessen', 'Essen gehen'), ('frühstück', 'Essen gehen'), ('kaffee', 'Essen gehen'),
  ('eis', 'Essen gehen'), ('bier', 'Essen gehen'), ('benzin', 'Verkehr'), ('tanken', 'Verkehr'), ('zug', 'Verkehr'),
  ('bahn', 'Verkehr'), ('parken', 'Verkehr'), ('flug', 'Reisen'), ('miete', 'Wohnen'), ('strom', 'Wohnen'),
  ('handy', 'Wohnen'), ('kino', 'Freizeit'), ('konzert', 'Freizeit'), ('buch', 'Freizeit'), ('geschenk', 'Geschenke'),
  ('schuhe', 'Kleidung'), ('hemd', 'Kleidung'), ('kleidung', 'Kleidung'), ('arzt', 'Gesundheit'), ('apotheke', 'Gesundheit');

CREATE TRIGGER IF NOT EXISTS a_spending_gets_a_category AFTER INSERT ON spendings WHEN NEW.category = ''
BEGIN
  UPDATE spendings SET category = coalesce(
    (SELECT category FROM keywords WHERE instr(' ' || lower(NEW.what) || ' ', ' ' || word || ' ') > 0 LIMIT 1),
    (SELECT category FROM budgets WHERE lower(category) = lower(NEW.what)),
    upper(substr(NEW.what, 1, 1)) || substr(NEW.what, 2))
  WHERE id = NEW.id;
END;
CREATE TRIGGER IF NOT EXISTS a_spending_has_the_usual_currency AFTER INSERT ON spendings WHEN NEW.currency = ''
BEGIN
  UPDATE spendings SET currency = coalesce(
    (SELECT currency FROM spendings WHERE currency <> '' ORDER BY id DESC LIMIT 1), '')
  WHERE id = NEW.id;
END;

CREATE TRIGGER IF NOT EXISTS a_currency_counts_for_what_had_none AFTER INSERT ON spendings WHEN NEW.currency <> ''
BEGIN
  UPDATE spendings SET currency = NEW.currency WHERE currency = '';
END;

-- Each month by category and currency; a budget counts where it has the category's name.
CREATE VIEW IF NOT EXISTS months AS
SELECT substr(s.day, 1, 7) AS month, s.category, s.currency, sum(s.amount) AS amount, count(*) AS times,
  (SELECT b.amount FROM budgets AS b WHERE b.category = s.category) AS budget
FROM spendings AS s GROUP BY 1, 2, 3;
CREATE VIEW IF NOT EXISTS totals AS
SELECT month, group_concat(trim(printf('%.2f', amount) || ' ' || currency), ' + ') AS total, sum(times) AS times
FROM (SELECT month, currency, sum(amount) AS amount, sum(times) AS times FROM months GROUP BY 1, 2)
GROUP BY month;
