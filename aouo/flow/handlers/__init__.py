"""Handles what needs no turn: one module for each kind of command, tap or event."""
