"""What starts a turn that nobody typed: schedules, so far."""
