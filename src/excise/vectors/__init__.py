"""Token vectors: ragged matrices of them, MaxSim over them, documents cut into windows. Numpy in, numpy out."""
