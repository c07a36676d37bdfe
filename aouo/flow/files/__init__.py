"""Files that people send: fetched, understood, and told to the model."""
