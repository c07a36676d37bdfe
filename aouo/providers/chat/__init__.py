"""OpenAI's Chat Completions format, as most services speak it."""
