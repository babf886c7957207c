"""Measuring: suites to search, metrics over their rankings, and whether a difference is more than chance."""
