"""A job becomes an answer: four pipelines around a model, and the tools that it may call."""
