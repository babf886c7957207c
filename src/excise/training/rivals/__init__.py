"""Fine-tuning of models of others on the same triples."""
