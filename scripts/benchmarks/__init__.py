"""What we promise, measured: every figure beside the smallest bot on our libraries."""
