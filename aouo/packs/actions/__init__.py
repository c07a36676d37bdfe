"""What a pack can do: its actions, and the phrases that reach them."""
