"""Everything that leaves: rendering, delivery and the sentences of the runtime."""
