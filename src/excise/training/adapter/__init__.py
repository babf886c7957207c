"""Training of the exclusion adapter."""
