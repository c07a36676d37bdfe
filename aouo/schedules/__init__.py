"""What starts a turn that nobody typed: schedules, watches, the heartbeat, the journal."""
