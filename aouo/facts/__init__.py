"""The values that every room shares: facts, ports, errors and notices; nothing here has effects."""
