"""The embedded model: llama.cpp's server in a child process."""
