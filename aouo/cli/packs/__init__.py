"""`aouo pack`: one verb a module."""
