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

-- The category of a word; people and models may add to it. With … behind it, what counts as it, too.
CREATE TABLE IF NOT EXISTS keywords (
  word     TEXT NOT NULL,
  category TEXT NOT NULL,
  language TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (word, language)
);
INSERT OR IGNORE INTO keywords (word, category, language) VALUES
  ('groceries', 'Groceries', 'en'), ('supermarket', 'Groceries', 'en'), ('food', 'Groceries', 'en'), ('snacks', 'Groceries', 'en'), ('bread', 'Groceries', 'en'), ('milk', 'Groceries', 'en'), ('vegetables', 'Groceries', 'en'), ('fruit', 'Groceries', 'en'),
  ('food …', 'Groceries', 'en'), ('food ……', 'Eating out', 'en'), ('lunch', 'Eating out', 'en'), ('dinner', 'Eating out', 'en'), ('breakfast', 'Eating out', 'en'), ('coffee', 'Eating out', 'en'), ('pizza', 'Eating out', 'en'), ('restaurant', 'Eating out', 'en'), ('ice cream', 'Eating out', 'en'), ('beer', 'Eating out', 'en'), ('burger', 'Eating out', 'en'), ('sushi', 'Eating out', 'en'), ('drinks', 'Eating out', 'en'), ('tea', 'Eating out', 'en'), ('bar', 'Eating out', 'en'),
  ('gas', 'Transport', 'en'), ('fuel', 'Transport', 'en'), ('petrol', 'Transport', 'en'), ('taxi', 'Transport', 'en'), ('uber', 'Transport', 'en'), ('bus', 'Transport', 'en'), ('train', 'Transport', 'en'), ('parking', 'Transport', 'en'), ('subway', 'Transport', 'en'),
  ('flight', 'Travel', 'en'), ('hotel', 'Travel', 'en'),
  ('rent', 'Home', 'en'), ('electricity', 'Home', 'en'), ('internet', 'Home', 'en'), ('phone', 'Home', 'en'), ('furniture', 'Home', 'en'),
  ('cinema', 'Fun', 'en'), ('concert', 'Fun', 'en'), ('book', 'Fun', 'en'), ('netflix', 'Fun', 'en'), ('spotify', 'Fun', 'en'), ('movie', 'Fun', 'en'), ('game', 'Fun', 'en'), ('museum', 'Fun', 'en'),
  ('gift', 'Gifts', 'en'), ('present', 'Gifts', 'en'), ('flowers', 'Gifts', 'en'),
  ('shoes', 'Clothes', 'en'), ('shirt', 'Clothes', 'en'), ('clothes', 'Clothes', 'en'), ('jacket', 'Clothes', 'en'), ('jeans', 'Clothes', 'en'),
  ('doctor', 'Health', 'en'), ('pharmacy', 'Health', 'en'), ('gym', 'Health', 'en'), ('haircut', 'Health', 'en'), ('dentist', 'Health', 'en'), ('medicine', 'Health', 'en'),
  ('ticket', 'Fun', 'en'),
  ('lebensmittel', 'Lebensmittel', 'de'), ('supermarkt', 'Lebensmittel', 'de'), ('essen …', 'Lebensmittel', 'de'), ('brot', 'Lebensmittel', 'de'), ('milch', 'Lebensmittel', 'de'), ('gemüse', 'Lebensmittel', 'de'), ('obst', 'Lebensmittel', 'de'), ('einkauf', 'Lebensmittel', 'de'), ('rewe', 'Lebensmittel', 'de'), ('edeka', 'Lebensmittel', 'de'), ('aldi', 'Lebensmittel', 'de'), ('lidl', 'Lebensmittel', 'de'),
  ('essen', 'Essen gehen', 'de'), ('mittagessen', 'Essen gehen', 'de'), ('abendessen', 'Essen gehen', 'de'), ('frühstück', 'Essen gehen', 'de'), ('kaffee', 'Essen gehen', 'de'), ('eis', 'Essen gehen', 'de'), ('bier', 'Essen gehen', 'de'), ('pizza', 'Essen gehen', 'de'), ('restaurant', 'Essen gehen', 'de'), ('döner', 'Essen gehen', 'de'), ('burger', 'Essen gehen', 'de'), ('sushi', 'Essen gehen', 'de'), ('kneipe', 'Essen gehen', 'de'),
  ('benzin', 'Verkehr', 'de'), ('tanken', 'Verkehr', 'de'), ('zug', 'Verkehr', 'de'), ('bahn', 'Verkehr', 'de'), ('parken', 'Verkehr', 'de'), ('taxi', 'Verkehr', 'de'), ('bus', 'Verkehr', 'de'), ('fahrkarte', 'Verkehr', 'de'),
  ('flug', 'Reisen', 'de'), ('hotel', 'Reisen', 'de'),
  ('miete', 'Wohnen', 'de'), ('strom', 'Wohnen', 'de'), ('handy', 'Wohnen', 'de'), ('internet', 'Wohnen', 'de'), ('möbel', 'Wohnen', 'de'),
  ('kino', 'Freizeit', 'de'), ('konzert', 'Freizeit', 'de'), ('buch', 'Freizeit', 'de'), ('netflix', 'Freizeit', 'de'), ('spotify', 'Freizeit', 'de'), ('museum', 'Freizeit', 'de'),
  ('geschenk', 'Geschenke', 'de'), ('blumen', 'Geschenke', 'de'),
  ('schuhe', 'Kleidung', 'de'), ('hemd', 'Kleidung', 'de'), ('kleidung', 'Kleidung', 'de'), ('jacke', 'Kleidung', 'de'), ('jeans', 'Kleidung', 'de'),
  ('arzt', 'Gesundheit', 'de'), ('apotheke', 'Gesundheit', 'de'), ('friseur', 'Gesundheit', 'de'), ('zahnarzt', 'Gesundheit', 'de'), ('fitnessstudio', 'Gesundheit', 'de'), ('ticket', 'Freizeit', 'de');

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
