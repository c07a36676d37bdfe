"""The embedded model: llama.cpp in a child process, and how one too small to chat is asked."""
