"""What a ranking is worth, and whether a difference is more than chance."""
