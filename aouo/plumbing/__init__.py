"""What every process needs: its home, log, clock, control socket, child processes, safe files."""
