"""Where encoder, engine and rule meet: the pipeline of a search, and the operator around it."""
