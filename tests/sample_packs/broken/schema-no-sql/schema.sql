CREATE TABEL items (id);
