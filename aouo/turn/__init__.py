"""4  A job becomes an answer: four pipelines around a model."""
