"""Waiting for a human in the middle of a turn: questions, approvals, and what became of them."""
