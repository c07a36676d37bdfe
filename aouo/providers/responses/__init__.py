"""OpenAI's Responses format."""
