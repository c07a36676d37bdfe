"""The verbs of `aouo pack`."""
