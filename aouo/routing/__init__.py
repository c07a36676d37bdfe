"""2  Pure decisions: what to do with a fact, and which pack and skill are meant."""
