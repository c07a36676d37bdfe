"""The owner's settings: keys, defaults, their file, and the checks on them."""
