"""The whole bot on this machine alone: tries, evals, a pack while it is written, a terminal."""
