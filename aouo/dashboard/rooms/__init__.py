"""The rooms of the page: each module returns the endpoints of one part of it."""
