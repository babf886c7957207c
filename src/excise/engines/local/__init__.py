"""The embedded engine: an exact late-interaction index in a folder."""
