"""What the runtime does by itself, beside the turns."""
