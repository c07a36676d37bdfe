"""Runs one tool of a pack in a process of its own, confined as far as the machine allows."""
