"""What a tool inside the sandbox may import of ours."""
