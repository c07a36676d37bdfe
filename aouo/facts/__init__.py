"""The words that every room speaks: facts, ports, errors and notices, without any effect."""
