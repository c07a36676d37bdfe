"""A job that becomes a turn: begun, given what it stands on, and ended in one transaction."""
