"""The evals of a pack: conversations it has to pass, read, run and checked."""
