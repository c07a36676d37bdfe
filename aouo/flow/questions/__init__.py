"""Asks a person in the middle of a turn, waits for the answer, and shows the outcome."""
