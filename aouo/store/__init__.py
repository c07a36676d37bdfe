"""All SQL of the runtime: one database file, one module per table family."""
