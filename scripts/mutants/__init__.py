"""Single mistakes, drawn by a seed and run against the tests that execute their line."""
