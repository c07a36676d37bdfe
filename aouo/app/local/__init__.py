"""Runs the whole bot on this machine alone: trials, evals, packs under development, a terminal."""
