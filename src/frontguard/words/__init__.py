"""Facts put into words."""
