"""The life of a pack: offered, installed, upgraded, restored and removed."""
