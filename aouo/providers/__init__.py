"""Models behind the one port the runtime knows them by."""
