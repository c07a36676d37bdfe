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
  ('food …', 'Groceries', 'en'), ('food ……', 'Eating out', 'en'), ('restaurants …', 'Eating out', 'en'), ('restaurant …', 'Eating out', 'en'), ('meals …', 'Eating out', 'en'), ('lunch', 'Eating out', 'en'), ('dinner', 'Eating out', 'en'), ('breakfast', 'Eating out', 'en'), ('coffee', 'Eating out', 'en'), ('pizza', 'Eating out', 'en'), ('restaurant', 'Eating out', 'en'), ('ice cream', 'Eating out', 'en'), ('beer', 'Eating out', 'en'), ('burger', 'Eating out', 'en'), ('sushi', 'Eating out', 'en'), ('drinks', 'Eating out', 'en'), ('tea', 'Eating out', 'en'), ('bar', 'Eating out', 'en'),
  ('gas', 'Transport', 'en'), ('fuel', 'Transport', 'en'), ('petrol', 'Transport', 'en'), ('taxi', 'Transport', 'en'), ('uber', 'Transport', 'en'), ('bus', 'Transport', 'en'), ('train', 'Transport', 'en'), ('parking', 'Transport', 'en'), ('subway', 'Transport', 'en'),
  ('flight', 'Travel', 'en'), ('hotel', 'Travel', 'en'),
  ('rent', 'Home', 'en'), ('electricity', 'Home', 'en'), ('internet', 'Home', 'en'), ('phone', 'Home', 'en'), ('furniture', 'Home', 'en'),
  ('cinema', 'Fun', 'en'), ('concert', 'Fun', 'en'), ('book', 'Fun', 'en'), ('netflix', 'Fun', 'en'), ('spotify', 'Fun', 'en'), ('movie', 'Fun', 'en'), ('game', 'Fun', 'en'), ('museum', 'Fun', 'en'),
  ('gift', 'Gifts', 'en'), ('present', 'Gifts', 'en'), ('flowers', 'Gifts', 'en'),
  ('shoes', 'Clothes', 'en'), ('shirt', 'Clothes', 'en'), ('clothes', 'Clothes', 'en'), ('jacket', 'Clothes', 'en'), ('jeans', 'Clothes', 'en'),
  ('doctor', 'Health', 'en'), ('pharmacy', 'Health', 'en'), ('gym', 'Health', 'en'), ('haircut', 'Health', 'en'), ('dentist', 'Health', 'en'), ('medicine', 'Health', 'en'),
  ('ticket', 'Fun', 'en'),
  ('lebensmittel', 'Lebensmittel', 'de'), ('supermarkt', 'Lebensmittel', 'de'), ('essen …', 'Lebensmittel', 'de'), ('restaurant …', 'Essen gehen', 'de'), ('restaurants …', 'Essen gehen', 'de'), ('brot', 'Lebensmittel', 'de'), ('milch', 'Lebensmittel', 'de'), ('gemüse', 'Lebensmittel', 'de'), ('obst', 'Lebensmittel', 'de'), ('einkauf', 'Lebensmittel', 'de'), ('rewe', 'Lebensmittel', 'de'), ('edeka', 'Lebensmittel', 'de'), ('aldi', 'Lebensmittel', 'de'), ('lidl', 'Lebensmittel', 'de'),
  ('essen', 'Essen gehen', 'de'), ('mittagessen', 'Essen gehen', 'de'), ('abendessen', 'Essen gehen', 'de'), ('frühstück', 'Essen gehen', 'de'), ('kaffee', 'Essen gehen', 'de'), ('eis', 'Essen gehen', 'de'), ('bier', 'Essen gehen', 'de'), ('pizza', 'Essen gehen', 'de'), ('restaurant', 'Essen gehen', 'de'), ('döner', 'Essen gehen', 'de'), ('burger', 'Essen gehen', 'de'), ('sushi', 'Essen gehen', 'de'), ('kneipe', 'Essen gehen', 'de'),
  ('benzin', 'Verkehr', 'de'), ('tanken', 'Verkehr', 'de'), ('zug', 'Verkehr', 'de'), ('bahn', 'Verkehr', 'de'), ('parken', 'Verkehr', 'de'), ('taxi', 'Verkehr', 'de'), ('bus', 'Verkehr', 'de'), ('fahrkarte', 'Verkehr', 'de'),
  ('flug', 'Reisen', 'de'), ('hotel', 'Reisen', 'de'),
  ('miete', 'Wohnen', 'de'), ('strom', 'Wohnen', 'de'), ('handy', 'Wohnen', 'de'), ('internet', 'Wohnen', 'de'), ('möbel', 'Wohnen', 'de'),
  ('kino', 'Freizeit', 'de'), ('konzert', 'Freizeit', 'de'), ('buch', 'Freizeit', 'de'), ('netflix', 'Freizeit', 'de'), ('spotify', 'Freizeit', 'de'), ('museum', 'Freizeit', 'de'),
  ('geschenk', 'Geschenke', 'de'), ('blumen', 'Geschenke', 'de'),
  ('schuhe', 'Kleidung', 'de'), ('hemd', 'Kleidung', 'de'), ('kleidung', 'Kleidung', 'de'), ('jacke', 'Kleidung', 'de'), ('jeans', 'Kleidung', 'de'),
  ('arzt', 'Gesundheit', 'de'), ('apotheke', 'Gesundheit', 'de'), ('friseur', 'Gesundheit', 'de'), ('zahnarzt', 'Gesundheit', 'de'), ('fitnessstudio', 'Gesundheit', 'de'), ('ticket', 'Freizeit', 'de');
INSERT OR IGNORE INTO keywords (word, category, language) VALUES
  ('supermercado', 'Supermercado', 'es'), ('súper', 'Supermercado', 'es'), ('mercado', 'Supermercado', 'es'), ('compra', 'Supermercado', 'es'), ('despensa', 'Supermercado', 'es'), ('pan', 'Supermercado', 'es'), ('leche', 'Supermercado', 'es'), ('verdura', 'Supermercado', 'es'), ('verduras', 'Supermercado', 'es'), ('fruta', 'Supermercado', 'es'), ('frutas', 'Supermercado', 'es'), ('carne', 'Supermercado', 'es'), ('huevos', 'Supermercado', 'es'), ('panadería', 'Supermercado', 'es'), ('carnicería', 'Supermercado', 'es'), ('frutería', 'Supermercado', 'es'), ('mercadona', 'Supermercado', 'es'), ('carrefour', 'Supermercado', 'es'), ('comida …', 'Supermercado', 'es'),
  ('comida', 'Comer fuera', 'es'), ('comida ……', 'Comer fuera', 'es'), ('restaurantes …', 'Comer fuera', 'es'), ('restaurante …', 'Comer fuera', 'es'), ('almuerzo', 'Comer fuera', 'es'), ('cena', 'Comer fuera', 'es'), ('desayuno', 'Comer fuera', 'es'), ('merienda', 'Comer fuera', 'es'), ('café', 'Comer fuera', 'es'), ('pizza', 'Comer fuera', 'es'), ('restaurante', 'Comer fuera', 'es'), ('helado', 'Comer fuera', 'es'), ('cerveza', 'Comer fuera', 'es'), ('cervezas', 'Comer fuera', 'es'), ('vino', 'Comer fuera', 'es'), ('bar', 'Comer fuera', 'es'), ('tapas', 'Comer fuera', 'es'), ('copas', 'Comer fuera', 'es'), ('hamburguesa', 'Comer fuera', 'es'), ('sushi', 'Comer fuera', 'es'), ('tacos', 'Comer fuera', 'es'), ('té', 'Comer fuera', 'es'), ('bocadillo', 'Comer fuera', 'es'), ('empanadas', 'Comer fuera', 'es'), ('antojitos', 'Comer fuera', 'es'),
  ('gasolina', 'Transporte', 'es'), ('nafta', 'Transporte', 'es'), ('bencina', 'Transporte', 'es'), ('combustible', 'Transporte', 'es'), ('diésel', 'Transporte', 'es'), ('taxi', 'Transporte', 'es'), ('uber', 'Transporte', 'es'), ('cabify', 'Transporte', 'es'), ('autobús', 'Transporte', 'es'), ('bus', 'Transporte', 'es'), ('colectivo', 'Transporte', 'es'), ('camión', 'Transporte', 'es'), ('metro', 'Transporte', 'es'), ('tren', 'Transporte', 'es'), ('estacionamiento', 'Transporte', 'es'), ('parking', 'Transporte', 'es'), ('peaje', 'Transporte', 'es'), ('boleto', 'Transporte', 'es'),
  ('vuelo', 'Viajes', 'es'), ('vuelos', 'Viajes', 'es'), ('avión', 'Viajes', 'es'), ('hotel', 'Viajes', 'es'), ('hostal', 'Viajes', 'es'), ('maleta', 'Viajes', 'es'),
  ('alquiler', 'Casa', 'es'), ('renta', 'Casa', 'es'), ('arriendo', 'Casa', 'es'), ('luz', 'Casa', 'es'), ('agua', 'Casa', 'es'), ('internet', 'Casa', 'es'), ('teléfono', 'Casa', 'es'), ('celular', 'Casa', 'es'), ('móvil', 'Casa', 'es'), ('muebles', 'Casa', 'es'), ('hipoteca', 'Casa', 'es'), ('calefacción', 'Casa', 'es'), ('electricidad', 'Casa', 'es'),
  ('cine', 'Ocio', 'es'), ('concierto', 'Ocio', 'es'), ('libro', 'Ocio', 'es'), ('libros', 'Ocio', 'es'), ('netflix', 'Ocio', 'es'), ('spotify', 'Ocio', 'es'), ('película', 'Ocio', 'es'), ('juego', 'Ocio', 'es'), ('videojuego', 'Ocio', 'es'), ('museo', 'Ocio', 'es'), ('teatro', 'Ocio', 'es'), ('entrada', 'Ocio', 'es'), ('entradas', 'Ocio', 'es'), ('fiesta', 'Ocio', 'es'),
  ('regalo', 'Regalos', 'es'), ('regalos', 'Regalos', 'es'), ('flores', 'Regalos', 'es'),
  ('zapatos', 'Ropa', 'es'), ('zapatillas', 'Ropa', 'es'), ('camisa', 'Ropa', 'es'), ('camiseta', 'Ropa', 'es'), ('ropa', 'Ropa', 'es'), ('chaqueta', 'Ropa', 'es'), ('vaqueros', 'Ropa', 'es'), ('jeans', 'Ropa', 'es'), ('pantalón', 'Ropa', 'es'), ('pantalones', 'Ropa', 'es'), ('vestido', 'Ropa', 'es'), ('abrigo', 'Ropa', 'es'),
  ('médico', 'Salud', 'es'), ('doctor', 'Salud', 'es'), ('doctora', 'Salud', 'es'), ('farmacia', 'Salud', 'es'), ('gimnasio', 'Salud', 'es'), ('peluquería', 'Salud', 'es'), ('dentista', 'Salud', 'es'), ('medicina', 'Salud', 'es'), ('medicinas', 'Salud', 'es'), ('medicamentos', 'Salud', 'es'), ('gafas', 'Salud', 'es'), ('lentes', 'Salud', 'es');
INSERT OR IGNORE INTO keywords (word, category, language) VALUES
  ('grocery', 'Groceries', 'en'), ('cheese', 'Groceries', 'en'), ('fries', 'Eating out', 'en'), ('käse', 'Lebensmittel', 'de'), ('brötchen', 'Lebensmittel', 'de'), ('pommes', 'Essen gehen', 'de'), ('kakao', 'Essen gehen', 'de'), ('tee', 'Essen gehen', 'de'), ('wein', 'Essen gehen', 'de'), ('wine', 'Eating out', 'en'),
  ('tram', 'Transport', 'en'), ('metro', 'Transport', 'en'), ('plane', 'Travel', 'en'), ('bahnticket', 'Verkehr', 'de'), ('zugticket', 'Verkehr', 'de'), ('busticket', 'Verkehr', 'de'), ('zugfahrkarte', 'Verkehr', 'de'), ('bahnfahrkarte', 'Verkehr', 'de'), ('fahrschein', 'Verkehr', 'de'), ('monatskarte', 'Verkehr', 'de'), ('sprit', 'Verkehr', 'de'), ('flugticket', 'Reisen', 'de'), ('kinoticket', 'Freizeit', 'de'), ('kinokarte', 'Freizeit', 'de'), ('kinokarten', 'Freizeit', 'de'), ('konzertticket', 'Freizeit', 'de'), ('konzertkarte', 'Freizeit', 'de'), ('konzertkarten', 'Freizeit', 'de'),
  ('courses', 'Courses', 'fr'), ('supermarché', 'Courses', 'fr'), ('nourriture', 'Courses', 'fr'), ('marché', 'Courses', 'fr'), ('pain', 'Courses', 'fr'), ('lait', 'Courses', 'fr'), ('légumes', 'Courses', 'fr'), ('fruits', 'Courses', 'fr'), ('fromage', 'Courses', 'fr'), ('viande', 'Courses', 'fr'), ('œufs', 'Courses', 'fr'), ('boulangerie', 'Courses', 'fr'), ('baguette', 'Courses', 'fr'), ('nourriture …', 'Courses', 'fr'), ('nourriture ……', 'Restaurants', 'fr'), ('bouffe …', 'Courses', 'fr'), ('bouffe ……', 'Restaurants', 'fr'), ('resto …', 'Restaurants', 'fr'), ('restos …', 'Restaurants', 'fr'),
  ('déjeuner', 'Restaurants', 'fr'), ('dîner', 'Restaurants', 'fr'), ('petit déjeuner', 'Restaurants', 'fr'), ('café', 'Restaurants', 'fr'), ('resto', 'Restaurants', 'fr'), ('restaurant', 'Restaurants', 'fr'), ('pizza', 'Restaurants', 'fr'), ('bière', 'Restaurants', 'fr'), ('glace', 'Restaurants', 'fr'), ('sushi', 'Restaurants', 'fr'), ('burger', 'Restaurants', 'fr'), ('vin', 'Restaurants', 'fr'), ('thé', 'Restaurants', 'fr'), ('bar', 'Restaurants', 'fr'), ('frites', 'Restaurants', 'fr'),
  ('essence', 'Transports', 'fr'), ('taxi', 'Transports', 'fr'), ('train', 'Transports', 'fr'), ('bus', 'Transports', 'fr'), ('métro', 'Transports', 'fr'), ('parking', 'Transports', 'fr'), ('péage', 'Transports', 'fr'), ('vol', 'Voyages', 'fr'), ('avion', 'Voyages', 'fr'), ('hôtel', 'Voyages', 'fr'),
  ('loyer', 'Logement', 'fr'), ('électricité', 'Logement', 'fr'), ('internet', 'Logement', 'fr'), ('téléphone', 'Logement', 'fr'), ('meubles', 'Logement', 'fr'),
  ('cinéma', 'Loisirs', 'fr'), ('ciné', 'Loisirs', 'fr'), ('concert', 'Loisirs', 'fr'), ('livre', 'Loisirs', 'fr'), ('musée', 'Loisirs', 'fr'), ('théâtre', 'Loisirs', 'fr'), ('jeu', 'Loisirs', 'fr'), ('netflix', 'Loisirs', 'fr'), ('spotify', 'Loisirs', 'fr'),
  ('cadeau', 'Cadeaux', 'fr'), ('fleurs', 'Cadeaux', 'fr'), ('chaussures', 'Vêtements', 'fr'), ('chemise', 'Vêtements', 'fr'), ('vêtements', 'Vêtements', 'fr'), ('veste', 'Vêtements', 'fr'), ('pantalon', 'Vêtements', 'fr'),
  ('médecin', 'Santé', 'fr'), ('pharmacie', 'Santé', 'fr'), ('coiffeur', 'Santé', 'fr'), ('dentiste', 'Santé', 'fr'), ('médicaments', 'Santé', 'fr');

-- What a category is called in each language; all names of a kind are one category.
CREATE VIEW IF NOT EXISTS names AS SELECT json_extract(value, '$[0]') AS kind, json_extract(value, '$[1]') AS name, json_extract(value, '$[2]') AS language FROM json_each('[
  ["food", "Groceries", "en"], ["food", "Lebensmittel", "de"], ["food", "Supermercado", "es"], ["food", "Courses", "fr"],
  ["meals", "Eating out", "en"], ["meals", "Essen gehen", "de"], ["meals", "Comer fuera", "es"], ["meals", "Restaurants", "fr"],
  ["ways", "Transport", "en"], ["ways", "Verkehr", "de"], ["ways", "Transporte", "es"], ["ways", "Transports", "fr"],
  ["trips", "Travel", "en"], ["trips", "Reisen", "de"], ["trips", "Viajes", "es"], ["trips", "Voyages", "fr"],
  ["home", "Home", "en"], ["home", "Wohnen", "de"], ["home", "Casa", "es"], ["home", "Logement", "fr"],
  ["fun", "Fun", "en"], ["fun", "Freizeit", "de"], ["fun", "Ocio", "es"], ["fun", "Loisirs", "fr"],
  ["gifts", "Gifts", "en"], ["gifts", "Geschenke", "de"], ["gifts", "Regalos", "es"], ["gifts", "Cadeaux", "fr"],
  ["clothes", "Clothes", "en"], ["clothes", "Kleidung", "de"], ["clothes", "Ropa", "es"], ["clothes", "Vêtements", "fr"],
  ["health", "Health", "en"], ["health", "Gesundheit", "de"], ["health", "Salud", "es"], ["health", "Santé", "fr"]]');
-- Which of these names somebody uses already: that of the newest row.
CREATE VIEW IF NOT EXISTS used AS
SELECT n.kind, n.name, max(u.at) AS at FROM names AS n JOIN (SELECT category, id AS at FROM spendings UNION ALL SELECT category, 0 FROM budgets) AS u ON u.category = n.name GROUP BY n.kind;
-- The category of each word, and of each category's name, as a person of a language reads it.
CREATE VIEW IF NOT EXISTS called AS
SELECT w.word, w.language, l.column1 AS reader, coalesce(u.name, n.name, w.category) AS category, w.rank FROM
  (SELECT fold(word) AS word, language, category, 1 AS rank FROM keywords WHERE instr(word, '…') = 0 UNION ALL SELECT fold(name), language, name, 0 FROM names UNION ALL SELECT fold(category), '', category, 2 FROM budgets) AS w
  JOIN (VALUES ('en'), ('de'), ('es'), ('fr')) AS l
  LEFT JOIN names AS k ON k.name = w.category LEFT JOIN used AS u ON u.kind = k.kind LEFT JOIN names AS n ON n.kind = k.kind AND n.language = l.column1;

CREATE TRIGGER IF NOT EXISTS a_spending_gets_a_category AFTER INSERT ON spendings WHEN NEW.category = ''
BEGIN
  UPDATE spendings SET category = coalesce(
    (SELECT category FROM called WHERE instr(fold_words(NEW.what), ' ' || word || ' ') > 0 ORDER BY rank, length(word) DESC LIMIT 1),
    upper(substr(NEW.what, 1, 1)) || substr(NEW.what, 2))
  WHERE id = NEW.id;
END;

-- Signs that several currencies have, and the one that is meant where nothing else is known.
CREATE VIEW IF NOT EXISTS signs AS SELECT json_extract(s.value, '$[0]') AS sign, c.value AS code, c.key = 1 AND json_extract(s.value, '$[0]') <> 'kr' AS usual FROM json_each('[
  ["$", "USD", "CAD", "AUD", "NZD", "SGD", "HKD", "TWD", "MXN", "ARS", "CLP", "COP"], ["kr", "SEK", "NOK", "DKK", "ISK"], ["¥", "JPY", "CNY"],
  ["Rs", "₹", "PKR", "LKR", "NPR", "MUR"], ["lei", "RON", "MDL"], ["fr", "CHF", "XOF", "XAF"]]') AS s, json_each(s.value) AS c WHERE c.key > 0;
CREATE TRIGGER IF NOT EXISTS a_spending_has_the_usual_currency AFTER INSERT ON spendings WHEN NEW.currency = ''
BEGIN
  UPDATE spendings SET currency = coalesce(
    (SELECT currency FROM spendings WHERE currency <> '' ORDER BY id DESC LIMIT 1), '')
  WHERE id = NEW.id;
END;
CREATE TRIGGER IF NOT EXISTS a_sign_is_the_currency_of_those_before AFTER INSERT ON spendings WHEN NEW.currency IN ('$', 'kr', '¥', 'Rs', 'lei', 'fr')
BEGIN
  UPDATE spendings SET currency = coalesce((SELECT s.currency FROM spendings AS s WHERE s.id <> NEW.id AND (s.currency = NEW.currency
    OR s.currency IN (SELECT code FROM signs WHERE sign = NEW.currency)) ORDER BY s.id DESC LIMIT 1), currency) WHERE id = NEW.id;
END;
CREATE TRIGGER IF NOT EXISTS a_currency_counts_for_what_had_none AFTER INSERT ON spendings WHEN NEW.currency <> ''
BEGIN
  UPDATE spendings SET currency = (SELECT currency FROM spendings WHERE id = NEW.id) WHERE currency = '';
END;

-- What is spent, in currencies that add up: a sign alone is the usual one of its, where that was named.
CREATE VIEW IF NOT EXISTS paid AS
SELECT s.id, s.day, s.what, s.amount, s.category, coalesce((SELECT code FROM signs WHERE sign = s.currency AND usual AND code IN (SELECT currency FROM spendings)), s.currency) AS currency FROM spendings AS s;
-- Each month by category and currency; a budget counts where it has the category's name.
CREATE VIEW IF NOT EXISTS months AS
SELECT substr(s.day, 1, 7) AS month, s.category, s.currency, sum(s.amount) AS amount, count(*) AS times,
  (SELECT b.amount FROM budgets AS b WHERE b.category = s.category) AS budget
FROM paid AS s GROUP BY 1, 2, 3;
CREATE VIEW IF NOT EXISTS totals AS
SELECT month, group_concat(trim(printf('%.2f', amount) || ' ' || currency), ' + ') AS total, sum(times) AS times
FROM (SELECT month, currency, sum(amount) AS amount, sum(times) AS times FROM months GROUP BY 1, 2)
GROUP BY month;
