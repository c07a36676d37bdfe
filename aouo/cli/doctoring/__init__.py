"""What `aouo doctor` looks at, one part a module."""
