"""Extracts text from strangers' files: recognised by content, read in a bounded child process."""
