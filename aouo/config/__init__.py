"""The owner's settings: their keys and defaults, the file they stand in, what is refused."""
