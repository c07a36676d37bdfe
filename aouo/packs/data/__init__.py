"""A pack's own database: its schema judged and applied, its rows read and written."""
