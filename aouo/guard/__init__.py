"""What stands between a model's wish and a tool."""
