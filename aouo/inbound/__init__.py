"""1  The world comes in: updates become facts."""
