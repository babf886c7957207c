"""Which candidates are demoted: pure functions over numpy arrays, with no torch, no text and no index."""
