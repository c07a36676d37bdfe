"""What a process needs whatever it does: its home, log, clock, control socket, safe files."""
