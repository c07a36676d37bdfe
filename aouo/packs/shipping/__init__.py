"""How a pack and what it keeps travel: archives, signatures, sources, places, backups."""
