"""Access to the internet for tools: public addresses only, bounded, and with untrusted content."""
