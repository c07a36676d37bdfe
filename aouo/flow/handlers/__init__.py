"""What is answered without a turn: one module for each kind of command, tap or event."""
