"""Voices: what hears and what speaks, at a service or on this machine."""
