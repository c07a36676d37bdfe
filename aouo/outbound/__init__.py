"""Everything that leaves: rendering, delivery and the words the runtime says."""
