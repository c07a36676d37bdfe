CREATE TABLE _aouo_schema (id);
