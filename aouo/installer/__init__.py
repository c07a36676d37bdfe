"""The life of a pack: offered, installed, upgraded and removed."""
