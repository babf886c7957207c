"""Qdrant as an engine: multivectors with MaxSim, in a server, a cluster, or inside this process."""
