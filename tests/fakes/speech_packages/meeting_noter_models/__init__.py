"""Where the weights of the real one are."""
