"""The composition root: settings in, a running App out."""
