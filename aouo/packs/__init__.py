"""Packs: manifest, skills, library, and the database file that each pack owns."""
