"""Tokens and money: what a call costs, what is reserved for it, and when a limit is reached."""
