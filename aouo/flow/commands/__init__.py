"""What a person can say with a slash: a registry and its handlers."""
