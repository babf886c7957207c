"""Fitting of the coverage readout."""
