"""Suites of queries with what they want and what they rule out, and the one that ships with excise."""
