-- How many messages may not have arrived is counted without walking the others.
CREATE INDEX deliveries_unknown ON deliveries (id) WHERE state = 'unknown';
