"""Fetches the files that people send, understands them, and tells the model of them."""
