"""A backup of the whole home in one file, and putting one back."""
