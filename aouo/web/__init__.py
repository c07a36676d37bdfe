"""The open internet, as a tool may see it: public addresses only, bounded, and never trusted."""
