"""Training of the detector."""
