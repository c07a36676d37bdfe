"""The formats of model services: what is sent, and what comes back."""
