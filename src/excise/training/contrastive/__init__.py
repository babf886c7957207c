"""What the adapter and the fine-tuned controls share: triples, a learner, one way to train, one protocol."""
