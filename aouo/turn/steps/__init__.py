"""The built-in steps, one module per pipeline."""
