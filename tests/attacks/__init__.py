"""What a model would do that obeys whoever wrote last, and what then happens."""
