"""Text out of files that strangers made: recognised by content, read in a bounded child process."""
